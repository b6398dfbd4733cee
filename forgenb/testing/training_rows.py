"""The training module of OCANNL 0.5.1, train.ml, function by function, and what forgenb has for each. As data.

`training_page` writes it down; tests look up every function and every test that is named here. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["ROWS"]

LOOP = "train/workers/test_train_loop.py"
PARALLEL = "train/workers/test_parallel.py"
PROGRAMS = "train/steps/test_programs.py"
MODES = "train/steps/test_modes.py"
PARAMS = "train/persistence/test_params.py"
ONCE = "train/steps/test_once.py"
LOOPS = "train/workers/test_loops.py"
SYMBOL = "routine/test_symbol.py"

ROWS = [
    Entry(
        "1", "aliases of modules, and the type of a backend, which every call is handed",
        "use backends backend.Backend",
        "backend/test_registry.py::test_a_strangers_plugin_is_found_and_loaded_when_named "
        "plugins/test_loopback.py::test_it_passes_the_kit",
        "a backend that every call is handed is easily mixed up: tensors know theirs, it is chosen by name where "
        "they are made, and a suite checks any plug-in",
    ),
    Entry(
        "2", "half, single and double", "tensor dtypes.result_dtype",
        "test_dtypes.py::test_a_number_is_rounded_once_to_the_dtype_that_is_asked_for "
        "optim/test_scaling.py::test_training_in_half_precision_comes_near_to_single",
        "NumPy's names serve, and few processors compute in half: float16 stores numbers, which are computed in "
        "float32",
    ),
    Entry(
        "3", "the record of switches for inlining", "settings debug Tensor.inline Tensor.materialize",
        "routine/test_debug.py::test_every_switch_has_an_effect "
        "backend/test_options.py::test_threads_are_those_of_the_backend "
        "backend/test_progress.py::test_it_can_be_turned_off routine/test_fuse.py::test_decisions",
        "a switch for all changes other programs too: values are inlined one by one, and none inside "
        "fnb.debug(keep=True)",
    ),
    Entry(
        "4", "all debugging on: files, every value kept, a log of assignments", "debug trace Routine.values",
        "routine/test_debug.py::test_all_switches_at_once_and_none_afterwards "
        "routine/test_values.py::test_every_value_can_be_read_by_its_tensor_and_by_its_label "
        "backends/forgenb_python/test_trace.py::test_every_assignment_of_the_row_is_there",
        "a switch that stays on is forgotten: it is a block; trace=True times statements, and fnb.trace lists "
        "assignments where kernels run as Python",
    ),
    Entry(
        "5", "all debugging off", "debug", "routine/test_debug.py::test_what_held_before_holds_again",
        "what held before is expected back: the end of the block restores that, and no default",
    ),
    Entry(
        "6", "no bindings", "routine.Bindings",
        f"{SYMBOL}::test_declarations {LOOPS}::test_a_sequential_loop_nests_ranged_symbols_and_leaves_the_others_alone",
        "bindings may be left out: they are the symbols that the program uses then, and none are an empty tuple",
    ),
    Entry(
        "7", "a new static symbol, with or without a range", "symbol",
        f"{SYMBOL}::test_declarations {SYMBOL}::test_cells_are_those_of_each_routine_in_the_order_of_declaration "
        f"{SYMBOL}::test_a_range_beyond_the_axis",
        "a symbol may serve several routines: it is in no list, bindings name the symbols, outermost first, and "
        "names and ranges are checked",
    ),
    Entry(
        "8", "the cell of a symbol in a routine", "routine.Bindings",
        f"{SYMBOL}::test_unknown_symbols_are_named_with_the_routine "
        f"{SYMBOL}::test_indices_of_a_run_leave_the_cells_alone",
        "Python has mappings: routine.bindings[symbol], by name too; errors name the routine, and a value may be "
        "given for one run",
    ),
    Entry(
        "9", "running a routine", "Routine.run backend.Stream",
        f"{SYMBOL}::test_indices_are_taken_when_run_is_called "
        "backend/test_streams.py::test_tasks_of_a_stream_run_in_order_on_a_thread_of_their_own",
        "waiting is the safer default: run() ends with the step on the CPU, and a stream is there for who does "
        "not want to wait",
    ),
    Entry(
        "10", "whether a tensor is a parameter", "train.is_param",
        f"{PROGRAMS}::test_parameters_come_in_the_order_of_their_making_from_shared_graphs "
        f"{MODES}::test_a_routine_may_not_write_an_input",
        "where a value lives should not decide whether it is trained: a class and requires_grad do",
    ),
    Entry(
        "11", "the parameters of a tensor, in the order of their making", "train.parameters",
        f"{PROGRAMS}::test_parameters_come_in_the_order_of_their_making_from_shared_graphs",
        "a shared graph has many more paths than nodes: a node is visited once",
    ),
    Entry(
        "12", "saving parameters in an npz file", "train.save_params",
        f"{PARAMS}::test_the_name_of_the_file {PARAMS}::test_names_that_cannot_be_keys "
        f"{PARAMS}::test_a_place_that_cannot_be_written",
        "a file in parts is worse than none: it is written whole or not at all, and a missing or repeated name is "
        "refused",
    ),
    Entry(
        "13", "reading parameters back", "train.load_params",
        f"{PARAMS}::test_all_differences_are_told_and_nothing_is_loaded "
        f"{PARAMS}::test_a_routine_uses_what_is_loaded",
        "values that do not fit should not get in unseen: names, shapes and dtypes are compared first, and "
        "devices have the new values at once",
    ),
    Entry(
        "14", "a value that passes between host and device, in either direction", "train.set_on_host",
        f"{MODES}::test_what_is_kept_is_read_after_each_run {MODES}::test_an_input_is_what_the_host_wrote_last "
        f"{MODES}::test_what_a_step_computes_or_makes_is_no_input "
        f"{MODES}::test_a_routine_may_not_write_an_input",
        "an input that a routine overwrites is a mistake: such a routine is refused when it is made, and both "
        "places are named",
    ),
    Entry(
        "15", "a value that has a buffer somewhere", "train.set_materialized Tensor.materialize",
        f"{MODES}::test_a_materialised_value_has_a_buffer_and_a_virtual_one_none",
    ),
    Entry(
        "16", "a value that the host can read", "train.set_hosted Tensor.retain",
        f"{MODES}::test_what_is_kept_is_read_after_each_run "
        f"{MODES}::test_a_constant_can_be_read_and_no_routine_changes_it {MODES}::test_an_input_is_no_result",
    ),
    Entry(
        "17", "a value without a buffer", "train.set_virtual Tensor.inline",
        f"{MODES}::test_gradients_of_parameters_are_never_virtual {MODES}::test_contradictions_name_both_places "
        "routine/test_intents.py::test_what_cannot_be_inlined_says_why",
        "one kind of conflict needs one error: it names both decisions",
    ),
    Entry(
        "18", "every value kept for looking at it", "train.retain_all Routine.values",
        f"{MODES}::test_all_values_of_an_update_are_retained "
        f"{MODES}::test_all_values_on_the_way_to_a_tensor_are_retained_and_no_others",
        "backward code exists once grad_update has made it: pass that update where gradients are wanted too",
    ),
    Entry(
        "19", "the forward code of a tensor", "train.forward",
        f"{PROGRAMS}::test_forward_takes_only_what_is_needed {PROGRAMS}::test_shared_statements_are_computed_once",
        "a second use should not find the graph gone: nothing is consumed, and a graph serves any number of "
        "programs",
    ),
    Entry(
        "20", "the record of a gradient update", "train.Update",
        f"{PROGRAMS}::test_update_is_a_routine_of_its_own_that_needs_the_gradients",
        "a program can be printed and joined: the record is one itself, and knows its gradients too",
    ),
    Entry(
        "21", "the gradient's record, or an error that says who asked", "train.diff_or_error",
        f"{PROGRAMS}::test_not_differentiable",
    ),
    Entry(
        "22", "a gradient update without checks", "train.grad_update_nochecks",
        f"{PROGRAMS}::test_without_checks_the_loss_is_scratch",
    ),
    Entry(
        "23", "a gradient update: forward, gradients from zero, backward", "train.grad_update",
        f"{PROGRAMS}::test_gradients_do_not_accumulate_across_runs_and_can_be_read "
        f"{PROGRAMS}::test_a_loss_of_several_elements_has_seed_one_for_each {PROGRAMS}::test_an_error_consumes_nothing",
        "an error should leave everything as it was: whether the loss is differentiable is asked first, and "
        "nothing is consumed; gradients always have storage",
    ),
    Entry(
        "24", "one step of descent of one parameter", "train.sgd_one",
        "golden/test_sgd_golden.py::test_every_step_is_that_of_another_library "
        f"{PROGRAMS}::test_momentum_is_that_of_the_optimiser train/steps/test_rate.py::test_the_rate_of_each_run",
        "a keyword without an effect hides a mistake: nesterov without a momentum is refused; the rate may be a "
        "number, a function or a tensor",
    ),
    Entry(
        "25", "descent of all parameters of a loss", "train.sgd_update train.sequence",
        f"{PROGRAMS}::test_half_moons_golden",
    ),
    Entry(
        "26", "nested loops over ranged symbols", "train.sequential_loop",
        f"{LOOPS}::test_a_sequential_loop_nests_ranged_symbols_and_leaves_the_others_alone "
        f"{LOOPS}::test_a_sequential_loop_restores_after_an_error",
        "an error should leave no index behind: cells are restored then too, and a function that writes them does "
        "not derail the loops",
    ),
    Entry(
        "27", "the steps of such loops dealt to workers in turn", "train.round_robin",
        f"{LOOPS}::test_round_robin_deals_steps_in_turn_and_counts_them "
        f"{LOOPS}::test_each_step_keeps_its_indices_and_no_cell_is_written",
        "queued work reads shared cells too late: each step is handed its own indices, and no cell is written",
    ),
    Entry(
        "28", "how often workers are synchronised", "train.round_robin",
        f"{LOOPS}::test_round_robin_deals_steps_in_turn_and_counts_them",
    ),
    Entry(
        "29", "a dry run of the rounds", "train.round_robin_dry_run",
        f"{LOOPS}::test_round_robin_deals_steps_in_turn_and_counts_them "
        f"{LOOPS}::test_a_range_too_large_to_be_listed_is_not_listed",
        "counting needs no loop: the counts follow from the product of the ranges, and no cell is written",
    ),
    Entry(
        "30", "the pairs of a merge in a tree", "train.tree_schedule",
        f"{LOOPS}::test_small_trees {LOOPS}::test_a_tree_merges_each_worker_once_when_it_is_complete",
    ),
    Entry(
        "31", "what a data-parallel update asks for", "train.parallel_update",
        f"{PARALLEL}::test_what_does_not_belong_together_is_refused",
        "a mistake is one without debugging, too: it is always checked",
    ),
    Entry(
        "32", "routines that merge gradients and losses", "train.parallel_update",
        f"{PARALLEL}::test_the_toy_of_two_shards {PARALLEL}::test_the_curve_does_not_depend_on_the_number_of_streams",
        "one launch is cheaper than one for each parameter: a statement merges all gradients of a dtype, summed "
        "as theirs are",
    ),
    Entry(
        "33", "merging from a copy or from where the values are", "train.parallel_update",
        f"{PARALLEL}::test_a_second_run_and_the_other_way_to_merge_have_the_same_bits "
        f"{PARALLEL}::test_merging_from_copies_takes_more_statements_and_memory",
        'assertions may be left out: none does any of the work; it is the keyword merge, "stream" or "copy"',
    ),
    Entry(
        "34", "the order of one synchronisation", "train.parallel_update",
        f"{PARALLEL}::test_a_partial_round_merges_only_those_that_took_part "
        f"{PARALLEL}::test_an_error_of_a_worker_reaches_the_caller_and_the_next_round_works",
        "idle workers hold losses of an earlier round: only workers of this one are merged; streams share the "
        "parameters, so none are copied back",
    ),
    Entry(
        "35", "one pass over all data", "train.ParallelUpdate",
        f"{PARALLEL}::test_the_curve_does_not_depend_on_the_number_of_streams",
    ),
    Entry(
        "36", "how many streams to use", "train.suggest_streams",
        f"{PARALLEL}::test_suggested_streams_are_at_least_one_and_no_more_than_asked_for",
        "a maximum should hold: there are never more than that, and never none",
    ),
    Entry(
        "37", "compiling and linking code as a routine", "train.to_routine",
        f"{PROGRAMS}::test_half_moons_golden {PROGRAMS}::test_arguments",
        "tensors know their backend: a program runs where they are, and each has a name",
    ),
    Entry(
        "38", "the record of a training run", "train.TrainResult", f"{LOOP}::test_reports_say_what_was_used",
        "lists with the newest first surprise: losses and rates are in the order of time, and predict takes a "
        "batch",
    ),
    Entry(
        "39", "a training run: sizes", "train.train_loop",
        f"{LOOP}::test_too_little_data_is_refused_with_all_numbers {LOOP}::test_what_cannot_be_trained_is_refused "
        f"{LOOP}::test_as_many_streams_as_share_a_batch_evenly_and_no_more_than_asked_for",
        "sizes that do not fit should say so: each is an error with the numbers, and streams beyond the batch are "
        "left out",
    ),
    Entry(
        "40", "a training run: data and bindings", "train.train_loop random.generator",
        f"{LOOP}::test_the_published_loop_on_half_moons "
        "nn/test_layers.py::test_parameters_are_drawn_around_zero_and_are_not_correlated",
        "equal first values make training slower: each parameter draws from its own stream, by seed and name, and "
        "data of a wrong size is refused",
    ),
    Entry(
        "41", "a training run: loss and rate", "train.train_loop",
        f"{LOOP}::test_the_published_loop_on_half_moons {LOOP}::test_a_schedule_gives_any_rate_that_descent_takes",
    ),
    Entry(
        "42", "curves that do not depend on the number of streams", "train.train_loop train.parallel_update",
        f"{LOOP}::test_the_number_of_streams_does_not_show "
        f"{PARALLEL}::test_the_curve_does_not_depend_on_the_number_of_streams",
    ),
    Entry(
        "43", "a training run: compiling once", "train.train_loop",
        "test_processes.py::test_a_second_process_compiles_nothing",
        "a second process should not compile again: kernels are kept by content, in memory and in a store",
    ),
    Entry(
        "44", "a training run: after each round", "train.train_loop",
        f"{LOOP}::test_reports_say_what_was_used {PARALLEL}::test_each_submission_has_the_indices_of_its_own_moment",
        "a queued update would find a step that has moved on: the step is taken when the update is submitted",
    ),
    Entry(
        "45", "a training run: epochs", "train.train_loop",
        f"{LOOP}::test_reports_say_what_was_used "
        f"{LOOP}::test_an_error_of_a_callback_leaves_whole_batches_closed_streams_and_the_mode",
    ),
    Entry(
        "46", "a training run: inference", "train.train_loop",
        f"{LOOP}::test_the_published_loop_on_half_moons {LOOP}::test_predictions_are_made_in_evaluation_mode",
        "one example at a time is slow: it takes a batch, and layers such as dropout are in evaluation mode "
        "meanwhile",
    ),
    Entry(
        "47", "a training run: memory", "train.train_loop Routine.memory",
        f"{LOOP}::test_used_memory_counts_what_the_run_made",
        "other processes use the device too: bytes are those of forgenb's own buffers",
    ),
    Entry(
        "48", "one forward pass, and its context", "train.forward_once",
        f"{ONCE}::test_a_tensor_can_be_read_and_trained_afterwards "
        f"{ONCE}::test_steps_after_it_have_the_bits_of_steps_without_it",
        "a look should not be the end of training: the graph stays intact, and the tensor itself can be read",
    ),
    Entry(
        "49", "one forward pass that keeps nothing", "train.forward_and_forget",
        f"{ONCE}::test_forgetting_leaves_no_buffer",
        "memory that stays is a leak: every buffer is free when it returns the values, and no collector has to "
        "run for that",
    ),
]  # fmt: skip
