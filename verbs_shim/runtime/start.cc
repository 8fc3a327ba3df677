// The library's constructor. It is in assembly because of the stack contents that it leaves: some programs
// read stack memory that they never wrote (perftest sends such bytes to its peer), and must not find the
// frames of attach() there. On return all stack memory below the stack pointer is zero, as in a process
// without the shim.
asm(R"(
  .pushsection .text, "ax", @progbits
  .type verbatim_start, @function
verbatim_start:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call verbatim_attach
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  # Pages that nobody has touched are zero already.
  mov %rax, %rdi
  mov %rsp, %rcx
  sub %rax, %rcx
  jbe 1f
  shr $3, %rcx
  xor %eax, %eax
  rep stosq
1:
  ret
  .cfi_endproc
  .size verbatim_start, . - verbatim_start
  .popsection
  .pushsection .init_array, "aw", @init_array
  .balign 8
  .quad verbatim_start
  .popsection
)");
