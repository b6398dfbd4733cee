"""What went wrong in OCANNL, in its training module and around it, and the test that forgenb has for each. As data.

The first list is of its public reports, the second of what its train.ml has in version 0.5.1. `training_page` writes
them down. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["DEFECTS", "OWN_DEFECTS"]

PARALLEL = "train/workers/test_parallel.py"
PROGRAMS = "train/steps/test_programs.py"
LOOP = "train/workers/test_train_loop.py"
LOOPS = "train/workers/test_loops.py"

DEFECTS = [
    Entry(
        "r1", "momentum ended in an error on every backend, and keywords had no effect", "train.sgd_one optim.SGD nn",
        "golden/test_sgd_golden.py::test_every_step_is_that_of_another_library "
        "optim/test_optimizers.py::test_five_steps_follow_the_papers "
        "optim/test_optimizers.py::test_every_keyword_has_an_effect "
        "nn/test_layer_settings.py::test_a_setting_has_an_effect",
        "every optimiser is held against another library, and every keyword has a test of its effect",
    ),
    Entry(
        "r2", "wrong gradients of a maximum over windows that overlap", "ops.max_pool2d",
        "ops/test_conv.py::test_two_maxima_of_one_row_each_have_the_windows_that_they_win "
        "ops/test_conv.py::test_overlapping_windows_add_up "
        "ops/test_conv.py::test_the_first_of_equal_maxima_has_the_gradient",
        "each window sends its gradient to the first of its own maxima",
    ),
    Entry(
        "r3", "results that changed from run to run, with several cores", "settings train.parallel_update",
        "test_processes.py::test_bits_do_not_depend_on_threads "
        "routine/test_compile.py::test_threads_give_the_same_bits "
        f"{PARALLEL}::test_the_curve_does_not_depend_on_the_number_of_streams "
        f"{PARALLEL}::test_a_second_run_and_the_other_way_to_merge_have_the_same_bits",
        "work is cut in a way that does not depend on threads, and sums have one order",
    ),
    Entry(
        "r4", "parameters that were zero instead of random", "nn.init",
        "nn/test_layers.py::test_parameters_are_drawn_around_zero_and_are_not_correlated "
        "nn/test_more_layers.py::test_initial_values_have_their_spread "
        "backends/test_agreement.py::test_random_numbers_are_bit_equal",
        "values are drawn on the host, with the same bits on every backend, and their spread is tested on each",
    ),
    Entry(
        "r5", "printing that changed the program", "Tensor",
        "interop/test_display.py::test_looking_changes_nothing "
        "interop/test_display.py::test_a_step_that_looks_is_recorded_as_one_that_does_not",
        "printing reads, and decides nothing",
    ),
    Entry(
        "r6", "a number times a matrix as an error of shapes", "Tensor.__mul__ Tensor.__matmul__",
        "pains/test_c_shapes.py::test_broadcast_operands_get_summed_gradients "
        "ops/test_contracts.py::test_a_number_is_no_factor_of_a_matrix_product",
        "operators have NumPy's meaning: * goes by element, @ is the product of matrices",
    ),
    Entry(
        "r7", "valid programs that a check of roots refused", "capture train.forward",
        f"{PROGRAMS}::test_other_results_of_a_capture_are_no_obstacle "
        f"{PROGRAMS}::test_shared_statements_are_computed_once",
        "there is no list of roots: a program takes what it needs, and other results are no obstacle",
    ),
    Entry(
        "r8", "inlined values that were read wrongly or not at all", "Tensor.retain",
        "routine/test_compile.py::test_scratch_cannot_be_read_and_says_how_to_keep_it "
        "routine/test_fuse.py::test_an_inlined_value_cannot_be_read "
        "routine/test_capture.py::test_scratch_of_one_routine_cannot_be_read_by_another "
        "routine/test_fuse.py::test_a_source_that_is_overwritten_in_between",
        "a read gives the value or an error that says how to keep it, and nothing is inlined across routines",
    ),
    Entry(
        "r9", "inlining that computed a residual stream again at every depth", "Routine.work",
        "routine/test_fuse.py::test_work_of_a_residual_stream_grows_in_a_line_with_its_depth "
        "routine/test_fuse.py::test_a_value_that_is_used_twice_is_computed_once",
        "a value is inlined into one reader or none, so no statement is computed twice for it",
    ),
    Entry(
        "r10", "simplification that made gradients wrong", "gradcheck",
        "properties/test_graphs.py::test_values_and_gradients_are_those_of_the_references "
        "properties/test_routines.py::test_a_routine_has_the_bits_of_eager_ops "
        "properties/test_graphs.py::test_pytorch_agrees",
        "no formula is rewritten: a routine has the bits of eager ops, and random graphs are held against references",
    ),
    Entry(
        "r11", "random numbers of poor quality, and all above zero", "random.generator",
        "nn/test_layers.py::test_parameters_are_drawn_around_zero_and_are_not_correlated "
        "test_random.py::test_generator_is_keyed_by_seed_name_and_step "
        "nn/test_layers.py::test_initial_values_depend_on_seed_and_full_name_alone",
        "each parameter has a stream of its own, and values lie around zero",
    ),
    Entry(
        "r12", "1-D convolutions that never ended, single elements that lost an axis, arrays that were missing",
        "ops.conv1d tensor",
        "ops/test_conv.py::test_a_convolution_over_one_axis_is_a_sum_over_taps "
        "routine/test_fuse.py::test_one_element_and_none testing/test_kit.py::test_shape_classes "
        f"{PROGRAMS}::test_a_routine_before_the_one_that_produces_what_it_reads",
        "every op is tried on single elements and on none, and a value that nothing computes is an error by name",
    ),
    Entry(
        "r13", "batch normalisation without running statistics", "nn.BatchNorm",
        "golden/test_modules_golden.py::test_running_statistics_and_evaluation "
        "ops/test_norms.py::test_running_statistics_move_by_the_momentum",
        "they are buffers of the layer, and eval() uses them",
    ),
    Entry(
        "r14", "a cache whose key left something out", "compiled",
        "backends/forgenb_cpu/test_store.py::test_a_key_tells_dtypes_versions_and_switches_apart "
        "kernel/test_binding.py::test_an_edited_helper_and_a_factorys_functions_are_told_apart_by_the_store "
        "kernel/test_binding.py::test_a_changed_eps_seed_or_dtype_takes_effect",
        "the key is a hash of the source with all that it calls, dtypes, options, versions and the processor",
    ),
    Entry(
        "r15", "a merge that did not wait for what it read, and benchmarks that no longer ran",
        "backend.Stream train.parallel_update",
        "backend/test_streams.py::test_a_task_waits_for_those_of_other_streams "
        f"{PARALLEL}::test_a_second_run_and_the_other_way_to_merge_have_the_same_bits "
        "bench/test_contenders.py::test_every_workload_has_its_steps_and_its_work "
        "routine/test_docs.py::test_the_examples_run",
        "a task names those that it waits for, and benchmarks and examples run in the tests",
    ),
    Entry(
        "r16", "older ones: a copied gradient of power, gradients cleared for one root only, file names that were too "
        "long, logs that were lost, options of a compiler that were garbled",
        "ops.pow train.grad_update debug trace",
        "ops/test_complex_step.py::test_gradients_agree_with_the_complex_step "
        f"{PROGRAMS}::test_other_results_of_a_capture_are_no_obstacle "
        "routine/test_debug.py::test_a_long_name_gives_a_file_that_can_be_written "
        "backends/forgenb_python/test_trace.py::test_results_are_the_same_and_tracing_ends "
        "backends/forgenb_cuda/test_ptx.py::test_every_kernel_compiles_and_assembles",
        "each has its test; a trace is made by the python backend, and no output of a device is captured",
    ),
]  # fmt: skip

OWN_DEFECTS = [
    Entry(
        "c1", "a partial round counts stale losses of idle workers (row 34)", "train.parallel_update",
        f"{PARALLEL}::test_a_partial_round_merges_only_those_that_took_part",
        "only workers of the round are merged",
    ),
    Entry(
        "c2", "a queued update reads its step late, perhaps the next one (row 44)", "train.parallel_update",
        f"{PARALLEL}::test_each_submission_has_the_indices_of_its_own_moment "
        "routine/test_symbol.py::test_indices_are_taken_when_run_is_called",
        "indices are taken when a step is submitted",
    ),
    Entry(
        "c3", "with several free symbols at the end, workers see each other's indices (row 27)", "train.round_robin",
        f"{LOOPS}::test_each_step_keeps_its_indices_and_no_cell_is_written",
        "each call gets its own indices, and no cell is shared",
    ),
    Entry(
        "c4", "more streams than the maximum (row 36)", "train.suggest_streams",
        f"{PARALLEL}::test_suggested_streams_are_at_least_one_and_no_more_than_asked_for",
        "the maximum holds",
    ),
    Entry(
        "c5", "a division by zero where streams outnumber the batch (row 39)", "train.train_loop",
        f"{LOOP}::test_as_many_streams_as_share_a_batch_evenly_and_no_more_than_asked_for",
        "there are no more streams than samples in a batch",
    ),
    Entry(
        "c6", "all parameters begin with the same random numbers (row 40)", "random.generator",
        "nn/test_layers.py::test_parameters_are_drawn_around_zero_and_are_not_correlated",
        "the stream of a parameter follows from the seed and its name",
    ),
    Entry(
        "c7", "an archive that is not closed, and equal names in it (rows 12 and 13)", "train.save_params",
        "train/persistence/test_params.py::test_a_place_that_cannot_be_written "
        "train/persistence/test_params.py::test_names_that_cannot_be_keys",
        "the file is written whole or not at all, and each name stands once",
    ),
    Entry(
        "c8", "work inside of assertions (row 33)", "train.parallel_update",
        "test_project.py::test_no_assert_does_anything",
        "assertions look at types and sizes only, in all of forgenb",
    ),
    Entry(
        "c9", "a switch that nothing reads (row 3)", "settings debug",
        "routine/test_debug.py::test_every_switch_has_an_effect",
        "each switch has a test of its effect",
    ),
    Entry(
        "c10", "a root is consumed before the error (rows 19 and 23)", "train.grad_update",
        f"{PROGRAMS}::test_an_error_consumes_nothing",
        "an error leaves everything as it was",
    ),
    Entry(
        "c11", "memory of a forward pass that stays (row 49)", "train.forward_and_forget",
        "train/steps/test_once.py::test_forgetting_leaves_no_buffer",
        "every buffer is free when it returns",
    ),
    Entry(
        "c12", "what becomes of an index after a loop is said in two ways (row 26)", "train.sequential_loop",
        f"{LOOPS}::test_a_sequential_loop_nests_ranged_symbols_and_leaves_the_others_alone "
        f"{LOOPS}::test_a_sequential_loop_restores_after_an_error",
        "it is restored, also after an error, and the documentation says so",
    ),
    Entry(
        "c13", "looking for parameters takes exponential time on shared graphs (row 11)", "train.parameters",
        f"{PROGRAMS}::test_parameters_come_in_the_order_of_their_making_from_shared_graphs",
        "a node is visited once",
    ),
    Entry(
        "c14", "an assignment to an element of a tensor writes its gradient", "Tensor.__setitem__ Tensor.grad",
        "ops/test_assignment.py::test_an_assignment_writes_the_value_and_not_the_gradient",
        "t[i] = v writes the value, and t.grad[i] = v the gradient",
    ),
]  # fmt: skip
