/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/chars.h"
#include "unit.h"

static bool trims(struct dg_span text, const char *blanks, struct dg_span expected)
{
    return dg_span_eq(dg_chars_trim(text, blanks), expected);
}

START_TEST(only_the_named_blanks_at_the_ends_go)
{
    ck_assert(trims(DG_SPAN(" \ta b\t "), " \t", DG_SPAN("a b")));
    ck_assert(trims(DG_SPAN("\ra\r"), " \t", DG_SPAN("\ra\r")));
    ck_assert(trims(DG_SPAN("\ra\r"), " \r", DG_SPAN("a")));
    ck_assert(trims(DG_SPAN("a\0"), " \t", DG_SPAN("a\0")));
    ck_assert_uint_eq(dg_chars_trim(DG_SPAN(" \t "), " \t").len, 0);
    ck_assert_uint_eq(dg_chars_trim(DG_SPAN(""), " \t").len, 0);
}
END_TEST

START_TEST(hexadecimal_digits_have_a_value_and_nothing_else_has)
{
    static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";
    int n = 0;
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(dg_chars_hex(digits[i]), i);
        ck_assert_int_eq(dg_chars_hex(capitals[i]), i);
    }
    for (int c = 0; c < 256; c++)
        n += dg_chars_hex((char)c) >= 0;
    ck_assert_int_eq(n, 22);
}
END_TEST

static bool are_digits(uint64_t number, unsigned base, size_t n_min, const char *expected)
{
    char room[DG_CHARS_DIGITS];
    return dg_span_eq(dg_chars_digits(number, base, n_min, room), dg_span_cstr(expected));
}

START_TEST(numbers_have_digits)
{
    ck_assert(are_digits(0, 10, 1, "0") && are_digits(0, 16, 8, "00000000"));
    ck_assert(are_digits(9, 10, 1, "9") && are_digits(10, 10, 1, "10"));
    ck_assert(are_digits(0xbeef, 16, 1, "beef") && are_digits(0xbeef, 16, 8, "0000beef"));
    ck_assert(are_digits(UINT32_MAX, 16, 8, "ffffffff"));
    ck_assert(are_digits(UINT64_MAX, 10, 1, "18446744073709551615"));
    ck_assert(are_digits(UINT64_MAX, 16, DG_CHARS_DIGITS, "0000ffffffffffffffff"));
}
END_TEST

START_TEST(knows_spaces_digits_and_letters)
{
    ck_assert(dg_chars_is_space('\n') && dg_chars_is_space('\t') && !dg_chars_is_space('\0'));
    ck_assert(dg_chars_is_blank('\t') && !dg_chars_is_blank('\n'));
    ck_assert(dg_chars_is_digit('0') && dg_chars_is_digit('9') && !dg_chars_is_digit(':'));
    ck_assert(dg_chars_is_letter('Z') && dg_chars_is_letter('a') && !dg_chars_is_letter('['));
    ck_assert(dg_chars_is_all_space(DG_SPAN(" \r\n")) && dg_chars_is_all_space(DG_SPAN("")));
    ck_assert(!dg_chars_is_all_space(DG_SPAN(" x ")));
    ck_assert(dg_span_eq(dg_chars_trim_space(DG_SPAN("\n a b\t")), DG_SPAN("a b")));
}
END_TEST

START_TEST(finds_a_word_in_a_list)
{
    static const char *const words[] = {"yes", "", "no", NULL};
    ck_assert(dg_chars_is_one_of(DG_SPAN("no"), words));
    ck_assert(dg_chars_is_one_of(DG_SPAN(""), words));
    ck_assert(!dg_chars_is_one_of(DG_SPAN("No"), words) &&
              !dg_chars_is_one_of(DG_SPAN("n"), words));
    ck_assert(dg_chars_is_one_of_any_case(DG_SPAN("No"), words));
    ck_assert(!dg_chars_is_one_of_any_case(DG_SPAN("nope"), words));
    ck_assert(!dg_chars_is_one_of(DG_SPAN("no"), words + 3));
    ck_assert(dg_chars_holds(DG_SPAN("say no"), "no") && !dg_chars_holds(DG_SPAN("say n"), "no"));
    ck_assert(!dg_chars_holds(DG_SPAN(""), "no"));
}
END_TEST

DG_UNIT(knows_spaces_digits_and_letters, finds_a_word_in_a_list,
        only_the_named_blanks_at_the_ends_go, hexadecimal_digits_have_a_value_and_nothing_else_has,
        numbers_have_digits)
