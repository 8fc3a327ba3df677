// Results of the mathematical library to the last bit. It has several versions of most functions and selects
// by the processor's features; those with fused multiplication round differently.
#include <math.h>
#include <stdio.h>

typedef double (*function)(double);

int main(void) {
  static const struct {
    const char* name;
    function call;
  } kFunctions[] = {{"sin", sin},     {"cos", cos},   {"tan", tan},       {"asin", asin},     {"atan", atan},
                    {"exp", exp},     {"exp2", exp2}, {"expm1", expm1},   {"log", log},       {"log2", log2},
                    {"log1p", log1p}, {"sqrt", sqrt}, {"cbrt", cbrt},     {"sinh", sinh},     {"tanh", tanh},
                    {"erf", erf},     {"j0", j0},     {"lgamma", lgamma}, {"tgamma", tgamma}, {"rint", rint}};
  // Volatile, because the compiler would otherwise compute some results itself.
  volatile double x;
  for (unsigned i = 0; i < sizeof kFunctions / sizeof kFunctions[0]; ++i) {
    double sum = 0;
    for (int k = 1; k <= 200; ++k) {
      x = k / 201.0;
      sum += kFunctions[i].call(x) / k;
    }
    x = 0.7390851332151607;
    printf("%s %a %a\n", kFunctions[i].name, kFunctions[i].call(x), sum);
  }
  volatile double y = 1.37;
  x = 0.0123;
  printf("pow %a atan2 %a fma %a fmod %a hypot %a\n", pow(x, y), atan2(x, y), fma(x, y, -x * y), fmod(y, x),
         hypot(x, y));
  volatile float f = 0.3f;
  printf("float %a %a %a\n", (double)sinf(f), (double)expf(f), (double)powf(f, f));
  volatile long double l = 0.3L;
  printf("long double %La %La\n", sinl(l), expl(l));
  return 0;
}
