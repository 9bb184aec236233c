"""The paper's proven statements with the tests that check them, and notes on its wording."""

from dataclasses import dataclass

from levelled_studies.study import Ruling

__all__ = ["THEOREMS", "WORDING", "Theorem"]

_UNBIASED = "tests/estimators/test_unbiased.py::"
_VARIANCE = "tests/estimators/test_variance.py::"
_LURE = "tests/estimators/test_lure.py::"
_CONSISTENCY = "tests/estimators/test_consistency.py::"
_PROPOSALS = "tests/proposals/test_proposals.py::"


@dataclass(frozen=True, slots=True)
class Theorem:
    """One statement, where it stands, and the tests (file::name) that decide about it."""

    name: str
    where: str
    says: str
    tests: tuple[str, ...]
    verdict: Ruling = "holds"


THEOREMS = (
    Theorem(
        "Lemma 1",
        "section 3.1, B.1",
        "Each a_m is an unbiased estimate of the risk.",
        (f"{_UNBIASED}test_each_term_is_unbiased_given_the_draws_before_it",),
    ),
    Theorem(
        "Theorem 1",
        "section 3.1, B.2",
        "R_PURE is unbiased, and its variance is Var[L]/N plus the sampling variance given the "
        "pool.",
        (
            f"{_UNBIASED}test_pure_and_lure_are_unbiased_whatever_the_proposal_learns",
            f"{_VARIANCE}test_enumerated_variances_equal_the_formulas_of_theorems_1_and_3",
            f"{_VARIANCE}test_over_pools_the_variance_of_the_loss_over_n_is_added",
        ),
    ),
    Theorem(
        "Theorem 2",
        "section 3.1, B.3",
        "R_PURE is consistent: its mean squared error vanishes as M grows with N/M fixed.",
        (
            f"{_CONSISTENCY}test_the_mean_squared_error_falls_with_the_budget_at_a_fixed_share"
            f"_of_the_pool",
        ),
    ),
    Theorem(
        "Plain importance weighting",
        "section 3.1",
        "The mean of w_m L_m alone is not unbiased, nor consistent.",
        (f"{_UNBIASED}test_plain_importance_weighting_is_biased_and_stays_so",),
    ),
    Theorem(
        "Two forms",
        "sections 3.1, 3.2, B.4",
        "R_PURE and R_LURE as weighted losses equal the same as (levelled) means of the a_m.",
        (f"{_LURE}test_the_two_forms_of_lure_and_of_pure_agree",),
    ),
    Theorem(
        "Weights of R_PURE",
        "section 3.2",
        "Under a uniform proposal the weights of R_PURE are 1 + (M - 2m + 1)/N.",
        (f"{_LURE}test_pure_weighs_early_uniform_draws_more_as_the_paper_says",),
    ),
    Theorem(
        "Weights of R_LURE",
        "section 3.2, B.4",
        "E[v_m] = 1 for every m; v_m = 1 for a uniform proposal, and for the whole pool (M = N).",
        (
            f"{_UNBIASED}test_lure_weights_have_mean_one_at_every_step",
            f"{_LURE}test_uniform_draws_have_weight_one",
            f"{_LURE}test_the_whole_pool_has_weights_of_one",
        ),
    ),
    Theorem(
        "Levels",
        "section 3.2, B.4",
        "The c_m sum to M.",
        (f"{_LURE}test_the_levels_sum_to_the_budget",),
    ),
    Theorem(
        "Theorem 3",
        "section 3.2, B.5",
        "R_LURE is unbiased, and its variance is Var[L]/N plus the sampling variance with levels "
        "c_m squared.",
        (
            f"{_UNBIASED}test_pure_and_lure_are_unbiased_whatever_the_proposal_learns",
            f"{_VARIANCE}test_enumerated_variances_equal_the_formulas_of_theorems_1_and_3",
            f"{_VARIANCE}test_over_pools_the_variance_of_the_loss_over_n_is_added",
        ),
    ),
    Theorem(
        "Lemma 2",
        "B.6",
        "((N-a)/N)^2 >= ((N-M)/(N-b))^2 for a + b <= M < N.",
        (f"{_VARIANCE}test_lemma_2_holds_for_all_small_numbers",),
    ),
    Theorem(
        "Theorem 4",
        "section 3.2, B.6",
        "Where F_m >= F_(M-m+1) for m <= M/2, Var R_LURE <= Var R_PURE, strictly if M > 1 and the "
        "first draw varies. Without the assumption it can be the other way round.",
        (
            f"{_VARIANCE}test_lure_varies_less_than_pure_where_the_assumption_of_theorem_4_holds",
            f"{_VARIANCE}test_theorem_4_is_not_strict_for_one_draw_or_an_optimal_first_one",
            f"{_VARIANCE}test_lure_varies_more_than_pure_under_a_proposal_that_gets_worse",
        ),
    ),
    Theorem(
        "Theorem 5",
        "section 3.2, B.7",
        "R_LURE is consistent under the assumptions of Theorem 2.",
        (
            f"{_CONSISTENCY}test_the_mean_squared_error_falls_with_the_budget_at_a_fixed_share"
            f"_of_the_pool",
        ),
    ),
    Theorem(
        "Ignored points",
        "section 3.3",
        "Points that are never proposed bias R_PURE and R_LURE by minus the sum of their losses "
        "over N; a set that varies biases each term by what it ignores there.",
        (
            f"{_UNBIASED}test_ignored_items_give_exactly_the_bias_of_section_3_3",
            f"{_UNBIASED}test_an_ignored_set_that_varies_biases_each_term_by_what_it_ignored_there",
        ),
    ),
    Theorem(
        "Theorem 6",
        "section 4, B.8",
        "The naive estimator has mean (1/M) sum mu_m, not the risk, and a variance of four terms.",
        (
            f"{_UNBIASED}test_the_naive_estimator_misses_in_the_same_harness",
            f"{_VARIANCE}test_the_four_terms_of_theorem_6_add_up_over_pools",
            f"{_VARIANCE}test_the_terms_of_theorem_6_for_uniform_draws_are_the_textbook_ones",
        ),
    ),
    Theorem(
        "Theorem 7",
        "section 4, B.9",
        "For a loss of at least 0 the proposal in proportion to it makes R_PURE and R_LURE equal "
        "the pool risk, for every M.",
        (
            f"{_LURE}test_the_optimal_proposal_makes_both_estimators_exact",
            f"{_PROPOSALS}test_every_step_of_the_optimal_proposal_gives_the_pool_risk",
        ),
    ),
    Theorem(
        "Remark on Theorem 7",
        "B.9, footnote",
        "Two proposals, for the positive and the negative part, estimate a signed mean exactly.",
        (f"{_LURE}test_two_proposals_estimate_a_signed_mean_exactly",),
    ),
    Theorem(
        "Remark on gradients",
        "B.9",
        "q**, in proportion to the size of the gradient, is the optimal proposal for the gradient "
        "of the pool risk in a scalar. (So it is for one draw. From M = 2 on another one can vary "
        "less: for the gradients 1, -1, -1 and two draws R_LURE has the variance 0.222 with q**, "
        "and 0.170 if the first item has probability 2/3 at the first draw.)",
        (
            f"{_VARIANCE}test_from_two_draws_on_another_proposal_beats_that_in_proportion_to"
            f"_the_gradient",
        ),
        "holds partly",
    ),
    Theorem(
        "Uniform draws and Theorem 4",
        "B.6",
        "A uniform proposal satisfies the assumption of Theorem 4, because all F_m are equal. (It "
        "does, but they are not equal: F_m = (n-1)/n S^2 with n = N-m+1 points left and S^2 the "
        "variance of the pool's losses with divisor N-1, which falls with m.)",
        (f"{_VARIANCE}test_uniform_draws_do_not_make_all_f_m_equal_as_the_paper_says",),
        "holds partly",
    ),
)

WORDING = (
    (
        "B.4",
        "“Our v_m always sum to M”: the c_m do; the v_m do so in expectation, which is what their "
        "mean of one says (test_lure_weights_sum_to_the_budget_only_in_expectation).",
    ),
    (
        "Theorem 4",
        "In the condition for strictness, w_m L_{i_1} is to be read as w_1 L_{i_1}.",
    ),
    (
        "B.6, proof of Theorem 4",
        "(N-M)^N, twice, is to be read as (N-M)^2, and the factor 1/M before the sums as 1/M^2, as "
        "the difference of the two variances above it shows. For odd M the middle term carries "
        "the same 1/M^2 and F_((M+1)/2), and the sum ends at (M-1)/2. Lemma 2 is used with a = 0 "
        "(at m = 1), where it also holds. The inequality stands.",
    ),
    (
        "B.3, proof of Theorem 2",
        "The mean of w_m L_m given the past is the pool risk less 1/N, not 1/M, times the losses "
        "drawn. That each variance is finite is not yet enough for their mean to stay bounded as M "
        "grows; the assumption gives a common bound, E[(w_m L_m)^2] <= E[L^2]/beta.",
    ),
    ("B.7, proof of Theorem 5", "The estimator on the left-hand side is R_LURE, not R_PURE."),
    (
        "section 3.2",
        "The weights 1 + (M-2m+1)/N of R_PURE at M = N are those of a uniform proposal; for odd M "
        "that of the middle draw is one.",
    ),
    (
        "section 6",
        "Figure 2a compares with “the true population risk R̂”. R̂ is the risk on the pool, and "
        "that is what is used here; the two differ by 0.0021 for the ideal line.",
    ),
    (
        "C.1",
        "“96 points in each of the other two clusters” with N = 101 and 5 in the small one: it "
        "must be 96 in both, 48 in each.",
    ),
    (
        "C.1",
        "The densities integrate to 0.12 x 0.4 + 0.95 x 0.5 + 0.95 x 0.5 = 0.998. They are divided "
        "by it here.",
    ),
    (
        "C.1",
        "How the scores are normalised is not said. Divided by their sum they make the proposal "
        "all but uniform; z-scores give the picture of the figures, over the whole pool (used "
        "here) or over the points left (see Figure 6 above).",
    ),
    (
        "C.1",
        "The epsilon-greedy probabilities sum to one only if |D_pool| counts the points still to "
        "be drawn. With N = 101 for it they sum to 1 - epsilon (m-1)/N: 0.96 at m = 41 and 0.90 at "
        "m = 100 (test_the_paper_s_epsilon_greedy_formula_sums_to_one_over_the_points_left_only).",
    ),
    (
        "Figure 4, caption",
        "“Opposite magnitude” is to be read as opposite sign, as in the text of section 7.",
    ),
)
