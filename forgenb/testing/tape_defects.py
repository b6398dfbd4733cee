"""What goes wrong in forge-ml 0.1.0, or went wrong before it, and the test that forgenb has for each. As data.

Read off its code, and off what it has repaired. `tape_page` writes it down. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["DEFECTS", "REPAIRED"]

SWEEP = "test_tape.py"
LIST = "test_tape_table.py"
IDS = "ops/test_ids.py"
EDGES = "ops/test_degenerate.py"
NUMBERS = "ops/test_published_numbers.py"
SCATTER = "ops/test_scatter.py"
GENERATE = "models/test_generate.py"
SAMPLER = "models/test_sampler.py"
FULL = "train/test_full_state.py"
STREAMS = "backends/forgenb_cuda/test_streams.py"
DRIVER = "backends/forgenb_cuda/test_driver.py"

DEFECTS = [
    Entry(
        "b1", "a second sweep gives wrong gradients in silence", "Tensor.backward Tape.backward",
        "pains/test_a_tape.py::test_the_message_of_a_consumed_graph_is_one_short_paragraph "
        f"{LIST}::test_backward_refuses_what_is_not_on_the_tape "
        f"{SWEEP}::test_a_consumed_part_of_another_graph_is_refused_and_no_gradient_changes",
        "it is an error, which says how to keep the graph, and no gradient changes",
    ),
    Entry(
        "b2", "a variable of another tape is taken for one of this; a seed is not looked at",
        "Tape.backward Tensor.backward",
        f"{LIST}::test_backward_refuses_what_is_not_on_the_tape {SWEEP}::test_a_seed_that_does_not_fit_is_refused "
        f"{SWEEP}::test_a_seed_that_is_no_tensor_is_refused "
        "backend/test_placement.py::test_a_seed_of_another_backend_is_refused",
        "both are refused: by tape, shape, dtype and backend",
    ),
    Entry(
        "b3", "ids out of range panic, compute something else, or leave old memory in the result, as the device has it",
        "ops.embedding ops.take ops.scatter_add_ ops.cross_entropy ops.kv_put",
        f"{IDS}::test_every_backend_refuses_ids_out_of_range_before_a_launch "
        f"{SCATTER}::test_ids_out_of_range_launch_nothing "
        "testing/test_kit.py::test_ids_that_are_taken_unchecked_are_seen",
        "they are refused above all backends, before a launch, in each op that takes some",
    ),
    Entry(
        "b4", "a GPU takes integers for floats", "dtypes.result_dtype ops",
        "test_dtypes.py::test_an_op_on_all_dtypes_gives_what_the_table_says "
        "test_dtypes.py::test_an_op_of_each_rule_on_every_backend "
        "ops/test_comparison.py::test_other_dtypes_are_refused",
        "dtypes are checked or converted above all backends, by one table",
    ),
    Entry(
        "b5", "a write in place reaches clones on the GPU and not on the processor",
        "ops.kv_append ops.scatter_add_ Tensor.assign_ optim.AdamW",
        "test_copies.py::test_a_write_reaches_views_and_no_copies_on_any_backend "
        "test_copies.py::test_a_step_of_an_optimiser_reaches_views_and_no_copies_on_any_backend "
        "optim/test_optimizers.py::test_a_gradient_that_is_another_view_of_its_parameter_is_read_before_it_is_written "
        "properties/test_in_place.py::test_backward_refuses_or_is_right",
        "it reaches views and no copies, on every backend; what backward needs and was written is an error",
    ),
    Entry(
        "b6", "panics: no columns, no axes, no heads, no batch, a table that is too short, a damaged file",
        "ops.softmax ops.layernorm ops.matmul ops.split_heads ops.embedding load",
        f"{EDGES}::test_it_is_refused {EDGES}::test_a_product_of_nothing_is_its_bias_and_has_gradients "
        f"{EDGES}::test_no_rows_and_no_tokens_are_no_error ops/test_heads.py::test_errors "
        "models/pretrained/test_stored.py::test_files_that_are_damaged train/test_hostile.py::test_checkpoints "
        "storage/quantized/test_reading.py::test_what_contradicts_itself",
        "what has a value gets it, and the rest is an error that names shapes",
    ),
    Entry(
        "b7", "gelu of minus infinity is NaN, and so is its slope beyond 1.8e19; a row that is masked whole is NaN",
        "ops.gelu ops.gelu_grad ops.softmax",
        f"{NUMBERS}::test_gelu_far_out ops/test_conventions.py::test_a_row_with_nothing_in_it_is_nan_and_no_other_is "
        "ops/test_conventions.py::test_a_causal_mask_leaves_every_row_something",
        "gelu has its limits; a row of minus infinities has no weights, so it stays NaN as in NumPy, by itself, and a "
        "causal mask makes none",
    ),
    Entry(
        "b8", "a loss that ends at 87.34 and rounds to 0, with a gradient that does neither", "ops.cross_entropy",
        f"{NUMBERS}::test_loss_and_slope_of_a_certain_miss_agree "
        f"{NUMBERS}::test_a_hit_that_is_nearly_certain_has_a_slope {NUMBERS}::test_cross_entropy_does_not_saturate",
        "loss and gradient come from logits and one log-sum-exp",
    ),
    Entry(
        "b9", "prompts of some lengths are an error on the GPU, if the width is no multiple of 64",
        "models.Decoder ops.getitem",
        "models/test_decoder.py::test_prompts_of_any_length_and_width_are_read "
        "models/test_decoder.py::test_sequences_of_different_lengths_on_each_backend",
        "a view begins at any element",
    ),
    Entry(
        "b10", "of equal logits some functions take the first and others the last; NaN counts as the largest",
        "models.next_id models.Greedy models.Sampler ops.argmax",
        f"{SAMPLER}::test_of_equal_logits_all_ways_to_be_greedy_take_the_first "
        f"{SAMPLER}::test_a_diverged_model_is_refused {SAMPLER}::test_top_k_chooses_among_the_greatest_with_ties_by_id "
        "testing/test_conventions.py::test_a_row",
        "the first is taken everywhere, and NaN is refused",
    ),
    Entry(
        "b11", "a pass after the last id that nobody uses", "models.generate models.generate_batch",
        f"{GENERATE}::test_one_pass_for_each_id_by_the_cache_while_the_context_holds_them "
        f"{GENERATE}::test_a_batch_runs_no_pass_after_the_last_id "
        "models/test_trace.py::test_no_record_of_an_end_and_none_before_it_is_asked_for",
        "there are as many passes as ids",
    ),
    Entry(
        "b12", "a table larger than a binding cannot be trained", "ops.embedding",
        f"{SCATTER}::test_a_table_of_more_than_128_mib_is_looked_up_and_has_a_gradient",
        "buffers have any size",
    ),
    Entry(
        "b13", "resuming begins steps, moments, schedule and data anew; ids that were kept are those of a file's "
        "name; the last window is never drawn",
        "train.CharRun.resume train.TrainingFolder data.batch_starts",
        f"{FULL}::test_moments_and_steps {FULL}::test_schedule {FULL}::test_order_of_the_data_and_generator_of_dropout "
        f"{FULL}::test_the_end_is_the_same_bit_for_bit {FULL}::test_without_one_of_them_the_end_is_another "
        "train/characters/test_char_run.py::test_a_changed_text_is_refused "
        "data/test_batches.py::test_first_and_last_window_are_drawn_and_none_beyond",
        "all of it goes on with the same bits; no ids are kept, and a text is known by the hash of what it says",
    ),
    Entry(
        "b14", "a batch and its parts agree without dropout only", "models.GPT train.AccumulatedStep train.ShardedStep",
        "models/test_gpt.py::test_parts_of_a_batch_add_up_to_the_whole "
        "train/workers/test_accumulated.py::test_parts_have_the_loss_gradients_and_masks_of_the_whole_batch "
        "train/workers/test_shards.py::test_uneven_shares_have_the_loss_gradient_and_masks_of_the_whole_batch "
        "train/workers/test_minibatches.py::test_masks_of_dropout_are_those_of_the_whole_batch",
        "a mask counts from the first sample of the batch; the rule of passes, seed_rule=\"pass\", is there to be "
        "asked for",
    ),
    Entry(
        "b15", "zeros for the gradient of the table come from the host in every step; each gradient of heads is "
        "mostly zeros; clipping writes each gradient again; one thread sums a column; a scatter in any order",
        "ops.embedding ops.split_heads optim.AdamW ops.sum_rows ops.scatter_add",
        "backends/forgenb_cuda/test_gpt.py::test_a_step_copies_its_batch_and_what_is_read "
        "ops/test_heads.py::test_absent_gradients_count_as_zero_and_one_kernel_packs_them "
        "optim/test_optimizers.py::test_a_step_never_writes_a_gradient "
        "ops/test_sums.py::test_any_number_of_threads_gives_the_same_bits "
        f"{SCATTER}::test_contributions_keep_their_order {SCATTER}::test_any_number_of_threads_gives_the_same_bits "
        "backends/forgenb_cuda/test_ptx.py::test_no_atomics",
        "only ids, the loss and the norm cross; one kernel packs heads; a step reads the factor of clipping; sums have "
        "one order, with no atomics",
    ),
    Entry(
        "b16", "the cache of pairs has no end, the name of the end of a text is split, unknown ids are left out, the "
        "bytes of a vocabulary vary, a key of the config is ignored",
        "data.GPT2Tokenizer data.CharTokenizer.to_json models.GPT.from_pretrained",
        "data/test_bpe.py::test_the_name_of_the_end_is_text_like_other_text "
        "data/test_bpe.py::test_ids_outside_and_what_is_no_text_are_refused "
        "data/test_tokenizer.py::test_equal_vocabularies_have_equal_bytes "
        "models/pretrained/test_config.py::test_a_model_that_gpt_is_not",
        "pairs are the library's, whose cache ends; the end of a text is an id, and its name in a text is text, "
        "so that no text can end another; ids are refused, bytes follow from ids, and keys that matter are read",
    ),
]  # fmt: skip

REPAIRED = [
    Entry(
        "f1", "a buffer that was used before, under a kernel that writes a part of it, spoilt gradients",
        "ops.scatter_add",
        "ops/test_contracts.py::test_results_do_not_depend_on_what_memory_held "
        "backends/forgenb_python/test_interpret.py::test_memory_is_unwritten_until_it_is_written "
        f"{DRIVER}::test_memory_is_used_again_and_poisoned",
        "tests fill memory with NaN before it is handed out, and results keep their bits",
    ),
    Entry(
        "f2", "what the host wrote into such a buffer overtook kernels that were queued", "tensor backend.Stream",
        f"{STREAMS}::test_what_the_host_writes_into_a_block_that_is_used_again_waits_for_its_readers "
        f"{STREAMS}::test_what_is_freed_in_a_task_is_not_handed_out_before_it_ends "
        f"{STREAMS}::test_what_the_host_frees_while_a_task_runs_is_not_handed_to_the_task",
        "copies are queued where kernels are, and a block waits for the tasks that may read it",
    ),
    Entry(
        "f3", "65,535 blocks are too few for the rows of batched attention, of which there are 98,304", "ops.softmax",
        "ops/test_published_shapes.py::test_more_rows_than_a_grid_of_65535_blocks "
        f"{DRIVER}::test_rows_beyond_the_grid_are_computed {DRIVER}::test_large_launches_stride_over_the_grid",
        "kernels stride over a grid that has as many blocks as the device keeps busy",
    ),
    Entry(
        "f4", "devices that were made and dropped by several threads at once locked each other",
        "use backend.get_backend",
        "backend/test_registry.py::test_threads_that_ask_at_once_get_one_object "
        "test_processes.py::test_python_threads_launch_at_once "
        "backend/test_streams.py::test_streams_make_and_drop_tensors_at_once",
        "there is one object a backend in a process, made under a lock",
    ),
    Entry(
        "f5", "1 / (1 - p), divided on the GPU, had other bits", "random.dropout_scale ops.dropout",
        "test_random.py::test_kept_elements_have_the_scale_of_the_host_on_every_backend "
        "backends/forgenb_cuda/test_ops.py::test_dropout_masks_are_those_of_the_cpu "
        "backends/test_agreement.py::test_random_numbers_are_bit_equal",
        "it is computed once, on the host, for every backend",
    ),
    Entry(
        "f6", "decay made frozen parameters smaller", "optim.AdamW nn.Module.freeze",
        "optim/test_optimizers.py::test_unused_and_frozen_parameters_stay_as_they_are "
        "models/test_gpt.py::test_frozen_embeddings_stay "
        "models/test_gpt_training.py::test_frozen_parameters_keep_their_bits_and_the_others_learn",
        "an optimiser leaves alone what has no gradient",
    ),
    Entry(
        "f7", "a large vocabulary of pairs on a small text left most of the parameters as they began",
        "train.TrainConfig optim.AdamW.unused",
        "train/characters/test_corpus.py::test_parts_of_a_text "
        "optim/test_optimizers.py::test_unused_and_frozen_parameters_stay_as_they_are",
        "runs have the characters of their text and no others; an optimiser lists what had no gradient",
    ),
]  # fmt: skip
