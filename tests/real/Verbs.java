import java.util.ArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

// A queue pair connected to itself, driven by verbs through JNI, beside threads, timers and the garbage collector.
public final class Verbs {
  static native long open();
  static native int send(long connection, byte[] message);
  static native int poll(long connection);
  static native byte[] received(long connection, int length);
  static native int close(long connection);

  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    final long connection = open();
    if (connection == 0) throw new IllegalStateException("open");
    final ExecutorService threads = Executors.newFixedThreadPool(4);
    final ArrayList<Future<Integer>> results = new ArrayList<>();
    for (int i = 0; i < 16; ++i) {
      final int number = i;
      results.add(threads.submit(() -> {
        Thread.sleep(number);
        int sum = 0;
        for (int j = 0; j < 500; ++j) sum += new byte[10_000 + j].length;
        return sum + number;
      }));
    }
    int echoed = 0;
    for (int i = 0; i < 20; ++i) {
      final byte[] message = ("message " + i).getBytes();
      if (send(connection, message) != 0) throw new IllegalStateException("send");
      for (int found = 0; found < 2;) {
        final int n = poll(connection);
        if (n < 0) throw new IllegalStateException("poll");
        found += n;
        if (n == 0 && i % 2 == 0) Thread.yield();
      }
      if (new String(received(connection, message.length)).equals("message " + i)) ++echoed;
    }
    long sum = 0;
    for (Future<Integer> result : results) sum += result.get();
    threads.shutdown();
    System.gc();
    System.out.println("echoed " + echoed + ", sum " + sum + ", ended " + threads.awaitTermination(1, TimeUnit.SECONDS));
    System.out.println("closed " + close(connection));
    try {
      Object nothing = arguments.length > 5 ? "" : null;
      System.out.println(nothing.hashCode());
    } catch (NullPointerException caught) {
      System.out.println("caught");
    }
  }
}
