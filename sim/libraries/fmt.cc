// The compiled part of fmt (all functions that its headers declare and do not define). Debian ships it only
// as a shared object, which would cost the loader milliseconds at each start of a program.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl<wchar_t>(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API void buffer<char>::append(const char*, const char*);

template FMT_API void vformat_to<char>(buffer<char>&, basic_string_view<char>, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                       locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
