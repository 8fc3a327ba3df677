// A program in Go over libibverbs: goroutines, timers, the garbage collector, and a queue pair of its own.
package main

/*
#cgo LDFLAGS: -libverbs
#include <infiniband/verbs.h>
#include <stdlib.h>
static struct ibv_device *device_at(struct ibv_device **list, int i) { return list[i]; }
static int poll_one(struct ibv_cq *cq) { struct ibv_wc wc; return ibv_poll_cq(cq, 1, &wc); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

func check(ok bool, what string) {
	if !ok {
		fmt.Println("failed:", what)
		os.Exit(1)
	}
}

func main() {
	var count C.int
	list := C.ibv_get_device_list(&count)
	check(list != nil && count == 1, "devices")
	context := C.ibv_open_device(C.device_at(list, 0))
	check(context != nil, "open")
	C.ibv_free_device_list(list)
	pd := C.ibv_alloc_pd(context)
	cq := C.ibv_create_cq(context, 16, nil, nil, 0)
	check(pd != nil && cq != nil, "objects")
	buffer := C.malloc(1 << 16)
	mr := C.ibv_reg_mr(pd, buffer, 1<<16, C.IBV_ACCESS_LOCAL_WRITE)
	check(mr != nil, "memory region")
	check(C.poll_one(cq) == 0, "empty queue")

	var group sync.WaitGroup
	results := make(chan int, 100)
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			time.Sleep(time.Duration(i) * time.Millisecond)
			garbage := 0
			for j := 0; j < 200; j++ {
				garbage += len(make([]byte, 10000+j))
			}
			results <- garbage + i
		}(i)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	for i := 0; i < 3; i++ {
		<-ticker.C
	}
	ticker.Stop()
	group.Wait()
	close(results)
	sum := 0
	for result := range results {
		sum += result
	}
	runtime.GC()
	fmt.Println("sum", sum)
	select {
	case <-time.After(3 * time.Millisecond):
		fmt.Println("time is up")
	case <-make(chan int):
		fmt.Println("never")
	}
	check(C.ibv_dereg_mr(mr) == 0 && C.ibv_destroy_cq(cq) == 0 && C.ibv_dealloc_pd(pd) == 0, "end")
	check(C.ibv_close_device(context) == 0, "close")
	C.free(unsafe.Pointer(buffer))
	fmt.Println("done")
}
