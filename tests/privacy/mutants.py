"""`python -m tests.privacy.mutants [NAME …]`: plants known mistakes into the code that keeps privacy, and
runs the tests that must notice.

Each mistake is made by itself in a copy of the tree. Of each the program prints one of

    killed    a test of those named failed
    survived  all of them passed: a test is missing
    broken    the tests could not be run, or did not end, so that nothing is shown

and it exits with 1 unless all were killed. Without names it takes all of them, which takes about twenty
minutes; the suite only checks that each can still be made and that its tests are there
(`test_mutants_apply.py`). Whoever changes a line that stands here changes it here as well, and runs that
mutant.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
Verdict = Literal["killed", "survived", "broken"]
PASSED, FAILED = 0, 1
"""Exit codes of pytest; all others say that tests were not run."""
LIMIT = 1_800
"""Seconds after which the tests of a mutant are ended."""


@dataclass(frozen=True)
class Mutant:
    """A mistake. file: from the root of the tree; shipped: text that occurs in it once, and becomes
    `planted`; tests: which have to fail, as pytest names them, from `tests/` on."""

    name: str
    file: str
    shipped: str
    planted: str
    tests: tuple[str, ...]

    def planted_in(self, text: str) -> str:
        """The text of the file with the mistake. Errors: ValueError where it cannot be made."""
        occurrences = text.count(self.shipped)
        if occurrences != 1 or self.shipped == self.planted:
            raise ValueError(f"{self.name}: its text occurs {occurrences} times in {self.file}")
        return text.replace(self.shipped, self.planted)

    def missing_tests(self) -> list[str]:
        """Those of its tests that are not there."""
        missing = []
        for node in self.tests:
            file, _, function = node.partition("::")
            path = ROOT / "tests" / file
            text = path.read_text("utf-8") if path.is_file() else ""
            if not re.search(rf"^def {function}\b" if function else "^def test_", text, re.M):
                missing.append(node)
        return missing


ROOM = "synth_engine/room/"
SOURCES = "synth_engine/sources/"
PRIVACY = "synth_engine/privacy/"
VERIFIER = "synth_engine/verifier/"
SESSION = "privacy/test_session.py::"
INTERRUPTED = "privacy/test_interrupted.py::"
DISCOVERY = "privacy/test_law_of_discovery.py::"
GAUSSIAN_DP = "privacy/test_gaussian_dp.py::"
CHECK = "privacy/test_law_of_release_check.py::"
LEARNING = "privacy/test_law_of_learning.py::"
GROW = "privacy/test_law_of_grow.py::"
UNITS_TEST = "test_people_of_several_records_and_replaced_ones_lose_the_target_at_most"
REFERENCES = "privacy/test_law_of_auto_references.py::"
GAUSSIAN_CAPS = "privacy/test_law_of_gaussian_caps.py::"
RELATIONAL = "privacy/test_law_of_relational.py::"
ALL_VIEWS = "privacy/test_law_of_all_views.py::"
SKETCH = "privacy/test_law_of_link_sketch.py::"
BOOKS = "web/test_ledger_services.py::"

MUTANTS = (
    # ---- the room: charge, journal, count, draw
    # ---------------------------------------------------------------------
    Mutant(
        "rows are looked at before the charge",
        ROOM + "session.py",
        "        self._filter.admit(question.event)\n",
        "        question.count(self._counts)\n        self._filter.admit(question.event)\n",
        (SESSION + "test_a_question_over_the_cap_is_refused_before_rows_are_looked_at",),
    ),
    Mutant(
        "a cap that is not enforced",
        PRIVACY + "filter.py",
        "if self._sum + cost > self._cap.amount or self._deltas",
        "if self._deltas",
        (
            (
                "privacy/test_filter_and_calibration.py::test_a_filter_admits_to_the_last_unit_and_refuses_"
                "the_next"
            ),
        ),
    ),
    Mutant(
        "a delta that is not added up",
        PRIVACY + "filter.py",
        "        self._deltas += delta\n",
        "",
        ("privacy/test_law_of_resample.py::test_a_draw_is_charged_with_epsilon_and_delta",),
    ),
    Mutant(
        "what fails after the charge is free",
        ROOM + "session.py",
        "        exact = question.count(self._counts)\n        if isinstance(self._sampler, SecureSampler):\n"
        "            self._sampler.prepare(question.event)\n        # All this",
        "        try:\n            exact = question.count(self._counts)\n        except Exception:\n"
        "            self._filter = Filter(self._filter.cap)\n            raise\n        # All this",
        (SESSION + "test_what_was_admitted_stays_paid_for_when_counting_fails",),
    ),
    Mutant(
        "a tree that is drawn in parts is not in the journal",
        ROOM + "session.py",
        "        self._journal.append(call)\n",
        "        if question.in_parts is None:\n            self._journal.append(call)\n",
        (
            INTERRUPTED
            + "test_each_depth_is_stored_but_where_something_secret_is_kept_between_them",
        ),
    ),
    Mutant(
        "calls that no plan fixed are answered",
        ROOM + "session.py",
        "if self._planned and self._planned[number : number + 1] != (call,):",
        "if self._planned and call not in self._planned:",
        (
            SESSION
            + "test_a_static_plan_is_answered_call_by_call_in_its_order_and_nothing_beyond_it",
        ),
    ),
    Mutant(
        "rows that were truncated for another unit",
        ROOM + "session.py",
        "    if rows.domain != domain:\n",
        "    if rows.domain.names != domain.names:\n",
        (SESSION + "test_rows_opened_under_another_domain_are_refused",),
    ),
    Mutant(
        "what was learned changes other columns",
        ROOM + "rows.py",
        "        if self.__domain.resolve(learned) != domain:\n",
        "        if self.__domain.resolve(learned) is None:\n",
        (SESSION + "test_nothing_but_what_was_open_changes_when_something_was_learned",),
    ),
    Mutant(
        "counts from before something was learned",
        ROOM + "session.py",
        "self._counts = CountCache(self._counts.rows.resolve(domain))",
        "self._counts.rows = self._counts.rows.resolve(domain)",
        (SESSION + "test_distances_are_counted_again_after_something_was_learned",),
    ),
    Mutant(
        "noise is drawn before it is recorded",
        ROOM + "session.py",
        "        self._log.begin(call)\n        # 4. What leaves the room has the noise that the event "
        "states.\n"
        "        answered = AnsweredCall(call, question.answer(exact, self._sampler))\n",
        "        answered = AnsweredCall(call, question.answer(exact, self._sampler))\n        "
        "self._log.begin(call)\n",
        (SESSION + "test_everything_but_the_draw_is_done_before_a_call_is_begun",),
    ),
    Mutant(
        "stored answers are drawn again",
        ROOM + "session.py",
        "self._log.next_stored() or self._draw(question, call)",
        "self._draw(question, call)",
        (INTERRUPTED + "test_a_run_that_is_stopped_and_goes_on_stays_within_its_claim",),
    ),
    Mutant(
        "stored answers of another run",
        ROOM + "session.py",
        '        if answered.call != call:\n            raise PrivacyError("the stored answers are not '
        'those of this run")\n        self._answered',
        "        self._answered",
        (INTERRUPTED + "test_answers_of_another_run_are_refused",),
    ),
    Mutant(
        "a distance by the identity of its reference",
        ROOM + "count_cache.py",
        "if known is None or known[0]() is not candidate.reference or candidate.merged:",
        "if known is None or candidate.merged:",
        (SESSION + "test_a_distance_is_of_the_very_reference_that_is_asked_about",),
    ),
    # ---- whose records: units and truncation
    # -----------------------------------------------------------------------
    Mutant(
        "one record more of a unit",
        SOURCES + "opening.py",
        "return np.sort(order[ranks < most])",
        "return np.sort(order[ranks <= most])",
        (
            "privacy/test_truncation.py::test_every_set_of_records_of_a_unit_is_kept_as_often_as_another",
        ),
    ),
    Mutant(
        "the first records of a unit",
        SOURCES + "opening.py",
        "    order = np.lexsort((keys, units))\n",
        "    order = np.argsort(units, kind='stable')\n",
        (
            "privacy/test_truncation.py::test_every_set_of_records_of_a_unit_is_kept_as_often_as_another",
        ),
    ),
    Mutant(
        "a secret that decides nothing",
        SOURCES + "opening.py",
        "+ number + secret).digest(size)",
        "+ number).digest(size)",
        (INTERRUPTED + "test_the_same_secret_retains_the_same_records_and_another_one_others",),
    ),
    Mutant(
        "a secret used twice in a run",
        SOURCES + "opening.py",
        "+ number + secret).digest(size)",
        "+ secret).digest(size)",
        (INTERRUPTED + "test_the_same_secret_retains_the_same_records_and_another_one_others",),
    ),
    Mutant(
        "one secret for all runs",
        "synthweb/runs/paid_job.py",
        'vault.derived_secret(f"truncation/{run.code}")',
        'vault.derived_secret("truncation")',
        ("web/test_persons.py::test_each_run_keeps_other_rows_of_a_person",),
    ),
    Mutant(
        "units by the bytes of their identifier",
        "synth_engine/codec/units.py",
        'pc.utf8_trim(pc.fill_null(ids, ""), characters=BLANKS)',
        'pc.fill_null(ids, "")',
        (
            "privacy/test_runs_read_every_record.py::test_blanks_around_an_identifier_make_no_other_person",
        ),
    ),
    Mutant(
        "units by letters that are not normalised",
        "synth_engine/codec/units.py",
        'unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())',
        "text.casefold()",
        (
            "privacy/test_runs_read_every_record.py::test_a_declared_spelling_says_who_is_one_person",
        ),
    ),
    # ---- how far counts move
    # ---------------------------------------------------------------------------------------
    Mutant(
        "the sensitivity of replacing is halved",
        PRIVACY + "unit.py",
        "    return Sensitivity(l1=2 * m, l2_squared=2 * m * m, linf=2 * m)",
        "    return Sensitivity(l1=m, l2_squared=m * m, linf=m)",
        (SESSION + "test_replacing_a_record_doubles_every_price",),
    ),
    Mutant(
        "records of a person that never meet in a cell",
        PRIVACY + "unit.py",
        "        return Sensitivity(l1=m, l2_squared=m * m, linf=m)",
        "        return Sensitivity(l1=m, l2_squared=m, linf=m)",
        ("privacy/test_losses.py::test_replacing_doubles_what_adding_costs",),
    ),
    Mutant(
        "group sizes priced as add and remove",
        PRIVACY + "unit.py",
        "    return histogram_sensitivity(PrivacyUnit(), relation)",
        "    return histogram_sensitivity(PrivacyUnit(), Relation.ADD_REMOVE)",
        (
            (
                "privacy/test_law_of_group_sizes.py::test_no_pair_of_neighbours_is_told_apart_by_more_than_"
                "the_claim"
            ),
        ),
    ),
    Mutant(
        "all scores at the price of one",
        PRIVACY + "unit.py",
        "Sensitivity(l1=number * linf, l2_squared=number * linf**2, linf=linf)",
        "Sensitivity(l1=linf, l2_squared=linf**2, linf=linf)",
        ("privacy/test_law_of_score.py::test_the_law_keeps_to_the_loss_that_was_paid",),
    ),
    Mutant(
        "all depths at the price of one",
        PRIVACY + "unit.py",
        "        l1=levels * of_one.l1, l2_squared=levels * of_one.l2_squared, linf=of_one.linf",
        "        l1=of_one.l1, l2_squared=of_one.l2_squared, linf=of_one.linf",
        ("privacy/test_law_of_grow.py::test_the_verifier_finds_the_same_price",),
    ),
    Mutant(
        "votes of one part",
        PRIVACY + "unit.py",
        "        l1=VOTE * of_one.l1,",
        "        l1=of_one.l1,",
        (
            "privacy/test_law_of_items.py::test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim",
        ),
    ),
    Mutant(
        "an interaction at half its length",
        PRIVACY + "unit.py",
        "l1, l2_squared, linf = 2 ** len(sizes) * spread,",
        "l1, l2_squared, linf = 2 ** (len(sizes) - 1) * spread,",
        (
            (
                "privacy/test_law_of_interaction.py::test_the_verifier_comes_to_the_same_sensitivities_by_"
                "its_own_way"
            ),
        ),
    ),
    Mutant(
        "a sketch priced as add and remove",
        "synth_engine/linking/sketch.py",
        "histogram_sensitivity(domain.unit, domain.relation)",
        "histogram_sensitivity(domain.unit, Relation.ADD_REMOVE)",
        (
            SKETCH
            + "test_a_run_under_either_relation_makes_the_planned_call_and_proves_its_loss",
        ),
    ),
    Mutant(
        "scores of a check at the price of one",
        "synth_engine/plans/release_check.py",
        "scores_sensitivity(of_counts, number=max(1, number))",
        "scores_sensitivity(of_counts, number=1)",
        (
            (
                "privacy/test_law_of_release_check.py::test_receipts_of_real_runs_are_accepted_and_refused_"
                "for_a_smaller_loss"
            ),
        ),
    ),
    Mutant(
        "learned items at the price of counts",
        "synth_engine/plans/domain_learning.py",
        "return items_sensitivity(sensitivity) if isinstance(attribute, WeakBasket) else sensitivity",
        "return sensitivity",
        ("privacy/test_law_of_items.py::test_a_run_that_chooses_items_keeps_its_target",),
    ),
    # ---- what events cost
    # --------------------------------------------------------------------------------------------
    Mutant(
        "noise priced for one record",
        PRIVACY + "events.py",
        "        return self.l1 / self.scale\n",
        "        return 1 / self.scale\n",
        (SESSION + "test_replacing_a_record_doubles_every_price",),
    ),
    Mutant(
        "half the rho of Gaussian noise",
        PRIVACY + "events.py",
        "        return self.l2_squared / (2 * self.sigma_squared)\n",
        "        return self.l2_squared / (4 * self.sigma_squared)\n",
        ("privacy/test_losses.py::test_the_costs_of_the_four_laws",),
    ),
    Mutant(
        "half the rho of a choice",
        PRIVACY + "events.py",
        "        return self.pure_epsilon() ** 2 / 8\n",
        "        return self.pure_epsilon() ** 2 / 16\n",
        ("privacy/test_losses.py::test_the_costs_of_the_four_laws",),
    ),
    Mutant(
        "a choice without the factor of two",
        PRIVACY + "events.py",
        "return (1 if self.monotonic else 2) * self.linf / self.scale",
        "return self.linf / self.scale",
        ("privacy/test_losses.py::test_the_costs_of_the_four_laws",),
    ),
    Mutant(
        "mu of a pure loss without half of pi",
        PRIVACY + "events.py",
        "    return epsilon**2 * HALF_PI\n",
        "    return epsilon**2\n",
        (GAUSSIAN_DP + "test_the_rule_for_pure_losses_is_above_the_exact_mu",),
    ),
    Mutant(
        "distances from a reference called monotonic",
        ROOM + "verbs/select.py",
        "event=event(scale=scale, linf=facts.sensitivity.linf),",
        "event=event(scale=scale, linf=facts.sensitivity.linf, monotonic=True),",
        (SESSION + "test_the_law_of_a_selection_follows_from_the_cap",),
    ),
    Mutant(
        "the loss of a tree without its last terms",
        PRIVACY + "trees.py",
        "if beyond.high < 1 << (_BITS - 140):",
        "if beyond.high < 1 << (_BITS - 2):",
        (
            "privacy/test_law_of_grow.py::test_two_ways_to_the_loss_agree_and_stay_below_twice_epsilon",
        ),
    ),
    # ---- how much noise
    # ------------------------------------------------------------------------------------------------
    Mutant(
        "a scale that is rounded down",
        PRIVACY + "noise_scale.py",
        "value = math.ceil(lower_bound / step) * step",
        "value = math.floor(lower_bound / step) * step",
        (
            (
                "privacy/test_filter_and_calibration.py::test_calibrated_noise_costs_its_share_or_a_little_"
                "less_and_is_a_float"
            ),
        ),
    ),
    Mutant(
        "half the scale of a choice",
        PRIVACY + "noise_scale.py",
        "round_up(Fraction(2 * linf) / epsilon_share)",
        "round_up(Fraction(linf) / epsilon_share)",
        (
            (
                "privacy/test_filter_and_calibration.py::test_calibrated_noise_costs_its_share_or_a_little_"
                "less_and_is_a_float"
            ),
        ),
    ),
    Mutant(
        "an epsilon of rho that is rounded down",
        PRIVACY + "conversion.py",
        "Fraction(math.ceil(bound * GRID), GRID)",
        "Fraction(math.floor(bound * GRID), GRID)",
        ("privacy/test_rounding.py::test_the_epsilon_of_rho_is_the_least_one_rounded_up",),
    ),
    Mutant(
        "what epsilon buys is not proved",
        PRIVACY + "conversion.py",
        "    rho = _round_down(low * (1 - 1e-10))\n",
        "    return _round_down(low * (1 + 1e-9))\n",
        (
            (
                "privacy/test_rounding.py::test_what_epsilon_and_delta_buy_is_rounded_down_by_no_more_than_"
                "is_promised"
            ),
        ),
    ),
    Mutant(
        "one cell moves where a record is replaced",
        PRIVACY + "pld.py",
        "    return 1 if relation is Relation.ADD_REMOVE else 2\n",
        "    return 1\n",
        (
            "privacy/test_certificates.py::test_replacing_a_record_is_two_single_counts_that_move",
        ),
    ),
    Mutant(
        "a Gaussian certificate for several records",
        PRIVACY + "pld.py",
        "    if unit.max_records > 1:\n        return None\n",
        "",
        (
            "privacy/test_certificates.py::test_several_records_a_unit_have_no_gaussian_certificate",
        ),
    ),
    Mutant(
        "no noise on empty cells",
        ROOM + "noise.py",
        "        return vector + laplace.draws(vector.size, scale=noise.scale, source=_uniform)\n",
        "        return vector + (vector != 0) * laplace.draws(vector.size, scale=noise.scale, "
        "source=_uniform)\n",
        (
            "privacy/test_samplers.py::test_noise_follows_its_exact_law",
            "privacy/test_randomness.py::test_every_cell_has_bytes_of_its_own",
        ),
    ),
    Mutant(
        "one noise for all cells",
        ROOM + "noise.py",
        "        return vector + laplace.draws(vector.size, scale=noise.scale, source=_uniform)\n",
        "        return vector + laplace.draws(1, scale=noise.scale, source=_uniform)\n",
        ("privacy/test_randomness.py::test_every_cell_has_bytes_of_its_own",),
    ),
    Mutant(
        "numbers below a bound that favour small ones",
        ROOM + "growth.py",
        "    most = (np.uint64(2**63) // limits) * limits\n",
        "    most = np.full(bounds.size, 2**63, dtype=np.uint64)\n",
        ("privacy/test_randomness.py::test_numbers_below_a_bound_are_exactly_uniform",),
    ),
    # ---- whole runs under a cap on mu² or rho
    # ------------------------------------------------------------------------
    Mutant(
        "counts with half of the noise that was paid for",
        ROOM + "verbs/measure.py",
        "values=sampler.counts(table.ravel(), noise).reshape(shape),",
        "values=sampler.counts(table.ravel(), Noise(law=noise.law, scale=noise.scale / 2)).reshape(shape),",
        (GAUSSIAN_CAPS + "test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it",),
    ),
    Mutant(
        "interactions with half of the noise that was paid for",
        ROOM + "verbs/interaction.py",
        "values=sampler.counts(table.ravel(), noise).reshape(shape),",
        "values=sampler.counts(table.ravel(), Noise(law=noise.law, scale=noise.scale / 2)).reshape(shape),",
        (GAUSSIAN_CAPS + "test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it",),
    ),
    Mutant(
        "scores with half of the noise that was paid for",
        ROOM + "verbs/score.py",
        "noise=noise, values=sampler.counts(scores, noise)",
        "noise=noise, values=sampler.counts(scores, Noise(law=noise.law, scale=noise.scale / 2))",
        (
            GAUSSIAN_CAPS
            + "test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it",
            GAUSSIAN_CAPS
            + "test_all_answers_together_keep_to_the_cap_on_rho_and_use_most_of_it",
        ),
    ),
    Mutant(
        "a choice with a quarter of the scale that was paid for",
        ROOM + "verbs/select.py",
        "Selection(sampler.choose(scores, scale=scale, law=law)),",
        "Selection(sampler.choose(scores, scale=scale / 4, law=law)),",
        (
            GAUSSIAN_CAPS
            + "test_all_answers_together_keep_to_the_cap_on_rho_and_use_most_of_it",
        ),
    ),
    Mutant(
        "whole runs as if a person had one record",
        PRIVACY + "unit.py",
        "    m = unit.max_records\n    if relation is Relation.ADD_REMOVE:\n",
        "    m = 1\n    if relation is Relation.ADD_REMOVE:\n",
        (GAUSSIAN_CAPS + "test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it",),
    ),
    Mutant(
        "a target that buys twice its mu²",
        PRIVACY + "conversion.py",
        "GaussianDP(mu_squared=mu_squared_for(epsilon, delta))",
        "GaussianDP(mu_squared=2 * mu_squared_for(epsilon, delta))",
        (GAUSSIAN_CAPS + "test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it",),
    ),
    Mutant(
        "a target that buys twice its rho",
        PRIVACY + "conversion.py",
        "ZeroConcentrated(rho=rho_for(epsilon, delta))",
        "ZeroConcentrated(rho=2 * rho_for(epsilon, delta))",
        (
            GAUSSIAN_CAPS
            + "test_all_answers_together_keep_to_the_cap_on_rho_and_use_most_of_it",
        ),
    ),
    # ---- people of several records, and records that are replaced
    # ------------------------------------------------------
    Mutant(
        "learning as if a person had one record",
        PRIVACY + "unit.py",
        "    m = unit.max_records\n    if relation is Relation.ADD_REMOVE:\n",
        "    m = 1\n    if relation is Relation.ADD_REMOVE:\n",
        (LEARNING + UNITS_TEST,),
    ),
    Mutant(
        "a check as if a person had one record",
        PRIVACY + "unit.py",
        "    m = unit.max_records\n    if relation is Relation.ADD_REMOVE:\n",
        "    m = 1\n    if relation is Relation.ADD_REMOVE:\n",
        (CHECK + UNITS_TEST,),
    ),
    Mutant(
        "learning where a record is replaced as where one is added",
        PRIVACY + "unit.py",
        "    m = unit.max_records\n    if relation is Relation.ADD_REMOVE:\n",
        "    m = unit.max_records\n    if relation in Relation:\n",
        (LEARNING + UNITS_TEST,),
    ),
    Mutant(
        "a check where a record is replaced as where one is added",
        PRIVACY + "unit.py",
        "    m = unit.max_records\n    if relation is Relation.ADD_REMOVE:\n",
        "    m = unit.max_records\n    if relation in Relation:\n",
        (CHECK + UNITS_TEST,),
    ),
    Mutant(
        "nodes that are opened for one record that is added",
        ROOM + "verbs/grow.py",
        "l1=facts.sensitivity.l1 * rule.parts,",
        "l1=rule.parts,",
        (GROW + "test_opening_nodes_costs_several_records_and_replaced_ones_what_is_charged",),
    ),
    Mutant(
        "counts of nodes for one record that is added",
        ROOM + "verbs/grow.py",
        "levels_sensitivity(facts.sensitivity, levels=rule.depth)",
        "levels_sensitivity(type(facts.sensitivity)(l1=1, l2_squared=1, linf=1), levels=rule.depth)",
        (GROW + "test_counts_of_nodes_cost_several_records_and_replaced_ones_what_is_charged",),
    ),
    # ---- references that follow from answers
    # ---------------------------------------------------------------------------
    Mutant(
        "a distance that counts twice",
        ROOM + "count_cache.py",
        "int(np.abs(table - candidate.reference).sum())",
        "2 * int(np.abs(table - candidate.reference).sum())",
        (REFERENCES + "test_a_whole_run_with_its_own_references_loses_the_target_at_most",),
    ),
    Mutant(
        "a reference that is moved by the exact number of records",
        ROOM + "count_cache.py",
        "int(np.abs(table - candidate.reference).sum())",
        "int(np.abs(table - candidate.reference - table.sum()).sum())",
        (REFERENCES + "test_a_whole_run_with_its_own_references_keeps_to_its_cap_on_mu",),
    ),
    # ---- thresholds
    # ------------------------------------------------------------------------------------------------------
    Mutant(
        "a threshold that is one lower",
        PRIVACY + "thresholds.py",
        "return max(1, math.ceil(minimum))",
        "return max(1, math.ceil(minimum) - 1)",
        (DISCOVERY + "test_a_threshold_keeps_its_promise_and_the_next_lower_does_not",),
    ),
    Mutant(
        "a threshold that lets much noise through",
        ROOM + "discovery.py",
        "        > thresholds.MAX_BY_CHANCE\n",
        "        > 2 * thresholds.MAX_BY_CHANCE\n",
        (DISCOVERY + "test_the_least_threshold_is_where_forty_values_are_expected_by_chance",),
    ),
    Mutant(
        "exceedances that begin below the threshold",
        ROOM + "discovery.py",
        "            if noise >= 0\n",
        "            if noise >= -1\n",
        (DISCOVERY + "test_noise_above_the_threshold_is_whatever_noise_is_not_negative",),
    ),
    Mutant(
        "strangers among values that somebody has",
        ROOM + "discovery.py",
        "number_passing(size - len(ranks), scale=scale, threshold=threshold)",
        "number_passing(size, scale=scale, threshold=threshold)",
        (DISCOVERY + "test_the_law_is_that_of_noise_on_every_value",),
    ),
    Mutant(
        "a discount below its bound",
        ROOM + "verbs/grow.py",
        '    if rule.name == "improved" and rule.discount <',
        '    if rule.name == "improved" and 2 * rule.discount <',
        (
            "privacy/test_law_of_grow.py::test_a_discount_below_its_bound_is_refused_and_costs_nothing",
        ),
    ),
    Mutant(
        "parts of records that are not paid for",
        ROOM + "verbs/grow.py",
        "l1=facts.sensitivity.l1 * rule.parts,",
        "l1=facts.sensitivity.l1,",
        ("privacy/test_law_of_discounts.py::test_the_verifier_finds_the_same_price",),
    ),
    # ---- what is asked
    # ---------------------------------------------------------------------------------------------------
    Mutant(
        "boxes of other classes",
        ROOM + "verbs/box_counts.py",
        '        raise PrivacyError("boxes are made of the classes of the described columns")\n',
        "        pass\n",
        ("privacy/test_law_of_divide.py::test_boxes_that_could_overlap_are_refused",),
    ),
    Mutant(
        "parts inside one another",
        ROOM + "verbs/leaves.py",
        "    partition.check(hierarchy)\n",
        "",
        (
            "privacy/test_law_of_leaves.py::test_what_is_no_partition_is_refused_and_costs_nothing",
        ),
    ),
    Mutant(
        "divisors of which a position has several",
        ROOM + "verbs/intervals.py",
        "if any(low >= high or high % low for low, high in pairwise(divisors)):",
        "if any(low >= high for low, high in pairwise(divisors)):",
        (
            "privacy/test_law_of_intervals.py::test_what_is_no_partition_is_refused_and_nothing_is_charged",
        ),
    ),
    Mutant(
        "votes that are rounded up",
        ROOM + "counts.py",
        "isqrt(VOTE**2 // n) if squared else VOTE // n",
        "isqrt(VOTE**2 // n) if squared else -(-VOTE // n)",
        (
            "privacy/test_law_of_items.py::test_a_basket_adds_one_vote_at_most_by_the_norm_of_its_noise",
        ),
    ),
    Mutant(
        "public totals for people of several records",
        "synth_engine/domain/document.py",
        "        if self.relation is not Relation.REPLACE_ONE or self.unit.max_records > 1:\n",
        "        if self.relation is not Relation.REPLACE_ONE:\n",
        (
            "privacy/test_law_of_resample.py::test_totals_of_another_relation_unit_or_sum_are_refused",
        ),
    ),
    Mutant(
        "the prior of one copy for several",
        PRIVACY + "resampling.py",
        "            copies=event.copies,\n",
        "            copies=1,\n",
        ("privacy/test_law_of_resample.py::test_the_prior_of_one_copy_is_refused_for_two",),
    ),
    # ---- stages of a plan
    # ----------------------------------------------------------------------------------------------------
    Mutant(
        "the whole budget after learning",
        "synth_engine/plans/two_stage.py",
        "    left = budget_after(left, questions, sensitivity)\n",
        "",
        (
            (
                "privacy/test_law_of_learning.py::test_no_pair_of_neighbours_is_told_apart_by_more_than_"
                "the_target"
            ),
        ),
    ),
    Mutant(
        "the whole budget after group sizes",
        "synth_engine/plans/two_stage.py",
        "        if sizes is None\n        else _subtract_events",
        "        if sizes is None or sizes is not None\n        else _subtract_events",
        (
            "engine/test_persons.py::test_group_sizes_cost_the_share_that_is_public_and_no_more",
            "engine/test_persons.py::test_the_receipt_proves_the_whole_and_names_the_person",
        ),
    ),
    Mutant(
        "the whole budget for each column of a purchase",
        "synth_engine/plans/description.py",
        "attribute, cap.of(cap.amount * parts[attribute.name] / whole), sensitivity",
        "attribute, cap, sensitivity",
        ("engine/test_purchase.py::test_its_receipt_is_verified_and_costs_its_target",),
    ),
    Mutant(
        "a purchase at the price of one record",
        "synth_engine/plans/description.py",
        "sensitivity = histogram_sensitivity(domain.unit, domain.relation)",
        "sensitivity = histogram_sensitivity(type(domain.unit)(), domain.relation)",
        (
            (
                "privacy/test_law_of_purchase.py::test_people_of_several_records_and_replaced_ones_lose_the_"
                "target_at_most"
            ),
        ),
    ),
    Mutant(
        "bought facts without a receipt",
        "synth_engine/verifier/purchases.py",
        "if rests != bool(bought) or",
        "if",
        ("engine/test_purchase.py::test_what_a_receipt_says_of_purchases_is_checked",),
    ),
    # ---- databases
    # --------------------------------------------------------------------------------------------------------
    Mutant(
        "one row more of a parent",
        SOURCES + "database.py",
        "return by_chance[ranks < most]",
        "return by_chance[ranks <= most]",
        (RELATIONAL + "test_a_unit_adds_its_own_records_and_no_more_than_are_stated",),
    ),
    Mutant(
        "a bound of a view that is not enforced",
        SOURCES + "database.py",
        "        if view.bounded:\n",
        "        if view.bounded and view.kind == 'units':\n",
        (RELATIONAL + "test_the_law_of_a_bounded_view_is_that_of_its_bound",),
    ),
    Mutant(
        "orphans are counted",
        SOURCES + "database.py",
        "    by_chance = by_chance[owners[by_chance] >= 0]\n",
        "",
        (RELATIONAL + "test_orphans_count_nowhere",),
    ),
    Mutant(
        "keys that occur twice",
        SOURCES + "database.py",
        "        _require_unique(table, keys)\n",
        "        pass\n",
        (RELATIONAL + "test_a_key_that_occurs_twice_is_refused_by_name_and_not_by_value",),
    ),
    Mutant(
        "the view of units is free",
        "synth_engine/relational/plan.py",
        "    return cap.amount - units.loss.amount\n",
        "    return cap.amount\n",
        (RELATIONAL + "test_views_share_one_budget",),
    ),
    Mutant(
        "each view has the cap of the database",
        "synth_engine/pipeline/databases.py",
        "domain=view.domain, cap=part.loss, log=log",
        "domain=view.domain, cap=plan.cap, log=log",
        (
            (
                "privacy/test_database_receipts.py::test_a_view_that_asks_for_more_than_its_part_is_"
                "refused_although_the_database_has_it"
            ),
        ),
    ),
    Mutant(
        "the view of units is free, in a whole run",
        "synth_engine/relational/plan.py",
        "    return cap.amount - units.loss.amount\n",
        "    return cap.amount\n",
        (ALL_VIEWS + "test_all_views_together_lose_the_target_and_little_less",),
    ),
    Mutant(
        "each view has what is left of the budget",
        "synth_engine/relational/plan.py",
        "                part=cap.of(left * share),\n",
        "                part=cap.of(left),\n",
        (ALL_VIEWS + "test_all_views_together_keep_to_the_cap_on_mu_and_use_most_of_it",),
    ),
    Mutant(
        "a smaller bound that is stated and not enforced, in a whole run",
        SOURCES + "database.py",
        "        if view.bounded:\n",
        "        if view.bounded and view.kind == 'units':\n",
        (ALL_VIEWS + "test_all_views_together_lose_the_target_and_little_less",),
    ),
    # ---- links
    # --------------------------------------------------------------------------------------------------------
    Mutant(
        "all records of a person in a link",
        SOURCES + "linking.py",
        "        codes = {name: column[retained] for name, column in codes.items()}\n",
        "        units = opening.units_of(columns[unit.column], unit=unit)\n",
        (SKETCH + "test_a_person_with_a_column_moves_one_cell_however_many_rows_are_theirs",),
    ),
    Mutant(
        "the loss of both sides as that of one",
        "synth_engine/linking/agreement.py",
        "        return self.left.epsilon + self.right.epsilon\n",
        "        return max(self.left.epsilon, self.right.epsilon)\n",
        (SKETCH + "test_both_verifiers_accept_the_receipt_and_name_the_link_and_both_losses",),
    ),
    Mutant(
        "both sketches state the loss of one, and a person is in both",
        "synth_engine/linking/agreement.py",
        "        return self.left.epsilon + self.right.epsilon\n",
        "        return max(self.left.epsilon, self.right.epsilon)\n",
        (SKETCH + "test_both_sketches_together_lose_the_sum_of_both_and_no_less",),
    ),
    Mutant(
        "half of the noise of a sketch",
        "synth_engine/linking/sketch.py",
        "            (Fraction(1),),\n            epsilon=spec.epsilon,\n",
        "            (Fraction(1),),\n            epsilon=2 * spec.epsilon,\n",
        (SKETCH + "test_both_sketches_together_lose_the_sum_of_both_and_no_less",),
    ),
    # ---- the verifier
    # --------------------------------------------------------------------------------------------------------
    Mutant(
        "the verifier takes any sensitivity",
        VERIFIER + "calls.py",
        '    if call["sensitivity"][kind] != sensitivities[kind]:\n',
        '    if call["sensitivity"][kind] < 1:\n',
        (
            "privacy/test_law_of_intervals.py::test_a_smaller_sensitivity_than_that_of_the_unit_is_refused",
            "privacy/test_verifier.py::test_a_tampered_pure_receipt_is_refused",
        ),
    ),
    Mutant(
        "the verifier takes any claim of monotonic scores",
        VERIFIER + "calls.py",
        'noise.get("monotonic") is not (query["verb"] in _MONOTONIC):',
        'noise.get("monotonic") not in (True, False):',
        (
            "privacy/test_law_of_refine.py::test_distances_from_a_reference_are_still_not_monotonic",
        ),
    ),
    Mutant(
        "the verifier does not recompute groups",
        VERIFIER + "calls.py",
        "    if computed_delta is None or computed_delta > delta:\n",
        "    if computed_delta is None:\n",
        ("privacy/test_law_of_resample.py::test_the_verifier_refuses_what_is_not_paid_for",),
    ),
    Mutant(
        "the verifier prices parts of a tree as one",
        VERIFIER + "calls.py",
        'query["grown"].get("parts", 1) * moving',
        "moving",
        ("privacy/test_law_of_discounts.py::test_the_verifier_finds_the_same_price",),
    ),
    Mutant(
        "the verifier enforces no pure cap",
        VERIFIER + "receipt.py",
        "        if total.epsilon is None or total.epsilon > limit:\n",
        "        if total.epsilon is None:\n",
        ("privacy/test_verifier.py::test_a_pure_cap_below_what_its_calls_cost_is_refused",),
    ),
    Mutant(
        "the verifier enforces no cap on mu",
        VERIFIER + "receipt.py",
        "        if total.mu_squared is None or total.mu_squared > limit:\n",
        "        if total.mu_squared is None:\n",
        (GAUSSIAN_DP + "test_a_receipt_that_was_tampered_with_is_refused",),
    ),
    Mutant(
        "the verifier takes any epsilon",
        VERIFIER + "receipt.py",
        '    if epsilon > amount(claim, "epsilon"):\n',
        "    if epsilon < 0:\n",
        (
            "privacy/test_verifier.py::test_a_tampered_pure_receipt_is_refused",
            "privacy/test_verifier.py::test_a_tampered_adaptive_receipt_is_refused",
        ),
    ),
    Mutant(
        "an adaptive run dressed as static",
        VERIFIER + "receipt.py",
        'passes_for_static = kind == "static" and KINDS.get(name) == "adaptive"',
        "passes_for_static = False",
        ("privacy/test_law_of_mst.py::test_a_receipt_that_dresses_it_as_static_is_refused",),
    ),
    Mutant(
        "losses of adaptive calls are convolved",
        VERIFIER + "receipt.py",
        'if named == "pld" and receipt["mechanism"]["kind"] != "static":',
        'if named == "pld" and receipt["mechanism"]["kind"] == "unknown":',
        ("privacy/test_verifier.py::test_a_tampered_adaptive_receipt_is_refused",),
    ),
    Mutant(
        "candidates that are not those of their rule",
        VERIFIER + "candidates.py",
        'if rule["number"] != len(listed) or rule["sha256"] !=',
        'if rule["number"] != rule["number"] or rule["sha256"] !=',
        (
            (
                "privacy/test_candidates_by_rule.py::test_both_verifiers_refuse_a_list_that_is_not_that_of_"
                "its_rule"
            ),
            "privacy/test_candidates_by_rule.py::test_a_rule_and_a_digest_that_agree_cannot_hide_scores",
        ),
    ),
    Mutant(
        "views that add up to more than their database",
        VERIFIER + "database.py",
        'for view in receipt["views"]), Fraction(0)) > cap:',
        'for view in receipt["views"]), Fraction(0)) > 2 * cap:',
        ("privacy/test_database_receipts.py::test_a_forged_receipt_is_refused",),
    ),
    Mutant(
        "a bound that no view of units led to",
        VERIFIER + "database.py",
        "(1 <= bound <= most if learned else bound == most)",
        "(1 <= bound <= most)",
        ("privacy/test_database_receipts.py::test_a_forged_receipt_is_refused",),
    ),
    Mutant(
        "signatures that are not checked",
        VERIFIER + "marks.py",
        "    if not signature_fits(public, message, signature):\n",
        "    if not message:\n",
        (
            "privacy/test_marks.py::test_a_mark_with_a_digest_that_fits_again_has_no_signature_that_fits",
        ),
    ),
    Mutant(
        "marks that do not continue from one another",
        VERIFIER + "marks.py",
        '    if mark["previous"] != previous:\n',
        "    if not previous:\n",
        (
            "privacy/test_marks.py::test_a_mark_that_was_rewritten_with_its_digest_does_not_fit_the_next_one",
        ),
    ),
    # ---- the ledger
    # --------------------------------------------------------------------------------------------------------
    Mutant(
        "runs about other neighbours in one account",
        "synthweb/ledger/services.py",
        "    if run.protection != Protection.of_account(locked):\n",
        "    if run.protection is None:\n",
        (BOOKS + "test_a_plan_for_another_unit_or_relation_is_refused",),
    ),
    Mutant(
        "public totals are no part of whom an account protects",
        "synthweb/ledger/protection.py",
        "            relation=domain.relation, unit=domain.unit, invariants=tuple(domain.invariants)\n",
        "            relation=domain.relation, unit=domain.unit\n",
        ("web/test_one_record_per_account.py::test_a_plan_protects_whom_its_description_says",),
    ),
    Mutant(
        "what was charged is given back",
        "synthweb/ledger/services.py",
        "        if before.kind != kind:\n",
        "        if before.kind == kind == Kind.HOLD:\n",
        (BOOKS + "test_what_was_charged_is_never_given_back",),
    ),
    Mutant(
        "what is held is free",
        "synthweb/ledger/movements.py",
        '= F(f"{name}_held") + F(f"{name}_charged") + more',
        '= F(f"{name}_charged") + more',
        (
            BOOKS + "test_a_hold_above_what_is_left_is_refused_with_the_exact_remainder",
            BOOKS + "test_the_last_unit_can_be_held",
        ),
    ),
    Mutant(
        "delta is not counted by the ledger",
        "synthweb/ledger/movements.py",
        "    for name in CURRENCIES:\n",
        '    for name in ("epsilon", "rho"):\n',
        (BOOKS + "test_a_hold_is_refused_when_only_delta_is_short",),
    ),
    Mutant(
        "a validation that failed is free in the allowance",
        "synthweb/runs/validations.py",
        "(run__check_run__allowance=allowance)\n",
        "(run__check_run__allowance=allowance, run__state=SynthesisRun.State.FINISHED)\n",
        ("web/test_validations.py::test_what_is_asked_stays_spent_in_the_allowance",),
    ),
    Mutant(
        "a run that was charged holds again",
        "synthweb/ledger/verify_ledger.py",
        "        holds[run] = None\n",
        "        holds.pop(run)\n",
        ("web/test_ledger_export.py::test_an_export_that_does_not_add_up_is_found",),
    ),
)


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """A copy of the tree, without what no test reads."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "tree"
        # Compiled code comes along: its sources keep their times, so that only what is mutated is compiled
        # again.
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        venv = ROOT / ".venv"
        if venv.exists():
            (copy / ".venv").symlink_to(venv.resolve())
        yield copy


def verdict_on(mutant: Mutant, copy: Path, *, log: Path) -> Verdict:
    """Make the mistake in a copy of the tree, run its tests, and take it back. log: where their output
    goes."""
    path = copy / mutant.file
    text, stat = path.read_text("utf-8"), path.stat()
    path.write_text(mutant.planted_in(text), "utf-8")
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
    ]
    # No compiled form of a mistake outlives it.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(
                [*command, *(f"tests/{node}" for node in mutant.tests)],
                cwd=copy,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=LIMIT,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return "broken"
    finally:
        path.write_text(text, "utf-8")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return {PASSED: "survived", FAILED: "killed"}.get(done.returncode, "broken")  # type: ignore[return-value]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.privacy.mutants", description=__doc__
    )
    parser.add_argument("names", nargs="*", help="those to try; all of them if none is named")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument(
        "--log",
        type=Path,
        default=Path(os.devnull),
        help="the output of the tests of the last one",
    )
    given = parser.parse_args(arguments)
    known = {mutant.name: mutant for mutant in MUTANTS}
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"no mutant is called {unknown[0]!r}")
    chosen = [known[name] for name in given.names] or list(MUTANTS)
    if given.list:
        sys.stdout.writelines(f"{mutant.name}\n" for mutant in chosen)
        return 0
    verdicts = []
    with copy_of_tree() as copy:
        for mutant in chosen:
            verdicts.append(verdict_on(mutant, copy, log=given.log))
            sys.stdout.write(f"{verdicts[-1]:9} {mutant.name}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{verdicts.count('killed')} of {len(verdicts)} were killed\n")
    return 0 if set(verdicts) == {"killed"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
