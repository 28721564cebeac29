#include "api/nearest.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(distances)
{
	ck_assert_uint_eq(edit_distance("epsilon", "epsilon"), 0);
	ck_assert_uint_eq(edit_distance("epsilom", "epsilon"), 1);
	ck_assert_uint_eq(edit_distance("epislon", "epsilon"), 1); /* a swap */
	ck_assert_uint_eq(edit_distance("epsilo", "epsilon"), 1);
	ck_assert_uint_eq(edit_distance("eps", "epsilon"), 1);
	ck_assert_uint_lt(edit_distance("eps", "epsilon"), edit_distance("eps", "epsilon_placement"));
	ck_assert_uint_eq(edit_distance("eepsilon", "epsilon"), 1);
	ck_assert_uint_eq(edit_distance("Epsilon", "epsilon"), 0);
	ck_assert_uint_eq(edit_distance("gain-offset", "gain_offset"), 0);
	ck_assert_uint_eq(edit_distance("", "abc"), 3);
	ck_assert_uint_eq(edit_distance("kitten", "sitting"), 4); /* one for the first letter */
	ck_assert_uint_lt(edit_distance("gama", "gemma"), edit_distance("gama", "llama"));
}
END_TEST

START_TEST(long_names_are_far_and_safe)
{
	char name[300];
	memset(name, 'a', sizeof name);
	name[sizeof name - 1] = 0;
	ck_assert(!is_near(name, edit_distance(name, "epsilon")));
	ck_assert(!is_near("epsilon", edit_distance("epsilon", name)));
	name[63] = 0;
	ck_assert_uint_eq(edit_distance(name, name), 0);
}
END_TEST

START_TEST(near_enough_to_suggest)
{
	ck_assert(is_near("epsilom", 1));
	ck_assert(is_near("eps", 2));
	ck_assert(!is_near("q", 1));
	ck_assert(!is_near("temperature", 9));
}
END_TEST

TEST_MAIN(distances, long_names_are_far_and_safe, near_enough_to_suggest)
