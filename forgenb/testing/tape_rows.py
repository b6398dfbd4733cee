"""What the tensors, the tape and the ops of forge-ml 0.1.0 do, and what forgenb has for each. As data.

`tape_page` writes it down; tests look up every function and every test that is named here. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["OPS", "RANDOM", "TAPE", "TENSORS"]

CONTRACTS = "ops/test_contracts.py"
SHAPES = "ops/test_published_shapes.py"
NUMBERS = "ops/test_published_numbers.py"
TABLE = "backends/forgenb_python/test_op_table.py"
HEADS = "ops/test_heads.py"
SCATTER = "ops/test_scatter.py"
SWEEP = "test_tape.py"
LIST = "test_tape_table.py"
RANDOMS = "test_random.py"
AGREE = "backends/test_agreement.py"
GPT = "models/test_gpt.py"

TENSORS = [
    Entry(
        "1", "tensors in row-major order, of 32-bit floats and unsigned integers; made from lists, zeros, read as "
        "lists",
        "tensor Tensor.numpy Tensor.tolist Tensor.reshape",
        "test_dtypes.py::test_a_number_is_rounded_once_to_the_dtype_that_is_asked_for "
        "interop/test_conversion.py::test_an_array_is_a_view_that_cannot_be_written "
        "pains/test_c_shapes.py::test_reshape_of_a_layout_with_gaps_copies "
        "pains/test_c_shapes.py::test_reshape_without_gaps_is_a_view",
        "NumPy's meaning is known: any strides, six dtypes, and a reshape copies where it has to; np.zeros serves for "
        "zeros",
    ),
    Entry(
        "2", "many tensors read in one trip to the device", "optim.global_norm",
        "optim/test_clip.py::test_the_norm_reads_the_device_once "
        "models/test_trace.py::test_one_synchronisation_for_each_id "
        "backends/forgenb_cuda/test_gpt.py::test_a_step_copies_its_batch_and_what_is_read",
        "a read is rare: what an op needs of many tensors is joined on the device and read once, and a step reads its "
        "loss and its norm",
    ),
    Entry(
        "3", "some rows of a matrix: a copy on the processor, on the GPU a view that fails unless it begins at a "
        "multiple of 256 bytes",
        "ops.getitem Tensor.view",
        "ops/test_indexing.py::test_a_basic_key_makes_a_view ops/test_indexing.py::test_views_of_views "
        "backends/forgenb_cuda/test_launches.py::test_writing_a_view_leaves_its_neighbours "
        "models/test_decoder.py::test_prompts_of_any_length_and_width_are_read",
        "a slice is one thing everywhere: a view that begins at any element, of any number of axes",
    ),
    Entry(
        "4", "a device, processor or GPU, with a description and the most that one binding holds",
        "use backends backend.get_backend Tensor.backend",
        "backend/test_placement.py::test_an_op_stays_on_the_backend_of_its_operands "
        "backend/test_registry.py::test_argument_then_block_then_variable_then_cpu "
        "backend/test_registry.py::test_a_strangers_plugin_is_found_and_loaded_when_named",
        "backends are plug-ins that anyone can add, not two cases in each op; memory is addressed, so there is no most",
    ),
    Entry(
        "5", "a guard that sends all launches inside it off together, with readbacks ending it",
        "compile capture backend.Stream",
        "routine/test_compile.py::test_fifty_steps_have_the_bits_of_eager_ones "
        "backends/forgenb_cuda/test_driver.py::test_a_launch_copies_nothing_and_waits_for_nothing "
        "routine/test_compile.py::test_reading_a_value_while_recording_raises",
        "launches of CUDA are queued anyhow, and a step that is recorded once is replayed as one call",
    ),
    Entry(
        "6", "counters that are always there: launches, submissions, buffers, bytes", "stats peak_memory",
        "backend/test_ready.py::test_every_prepared_launch_counts_and_is_noted "
        "ops/test_conv.py::test_only_the_gradients_that_are_wanted_are_computed "
        "backend/test_metering.py::test_blocks_count_until_they_are_collected",
        "what is counted here are launches, products, allocations, bytes, copies and waits; nothing is submitted",
    ),
    Entry(
        "7", "one kind of error with eight cases", "errors",
        "test_errors.py::test_is_a_forge_error test_errors.py::test_is_also_the_builtin_that_people_catch "
        "ops/test_messages.py::test_a_misuse_gets_one_of_our_errors_in_a_few_lines "
        "backend/test_placement.py::test_mixing_backends_raises_and_names_the_call_that_fixes_it",
        "Python has classes to catch: a shape is also a ValueError, an index an IndexError",
    ),
    Entry(
        "8", "layers: linear with weights [in, out], layer normalisation, embedding; no containers, no dropout",
        "nn.Linear nn.LayerNorm nn.Embedding nn.Dropout nn.Module nn.Sequential",
        "nn/test_layers.py::test_linear_is_an_affine_map_with_gradients "
        "nn/test_layers.py::test_layer_norm_normalises_rows nn/test_layers.py::test_embedding_looks_rows_up "
        "nn/test_layers.py::test_shapes_and_decay_of_parameters "
        "nn/test_layers.py::test_dropout_drops_in_training_only",
        "people build models of their own: there are modules, containers and some thirty layers; weights are [in, out] "
        "here too, so nothing is transposed when GPT-2 is loaded",
    ),
]  # fmt: skip

TAPE = [
    Entry(
        "9", "a tape whose nodes are closures; variables know their number on it", "Tape Tensor.node",
        f"{LIST}::test_entries_say_what_was_recorded {LIST}::test_backward_lists_gradients_by_entry "
        "pains/test_a_tape.py::test_rounds_leave_no_tensor_without_the_cyclic_collector",
        "a tensor records wherever it is used, and its node lives as long as what needs it; fnb.Tape is a list to look "
        "at",
    ),
    Entry(
        "10", "a leaf, whose gradient is kept", "Tape.leaf tensor",
        f"{LIST}::test_backward_lists_gradients_by_entry "
        f"{LIST}::test_leaf_refuses_integers_inner_tensors_and_other_things "
        f"{SWEEP}::test_leaves_accumulate_until_they_are_cleared",
        "leaves are used in many steps: a gradient adds up until it is cleared",
    ),
    Entry(
        "11", "add of equal shapes, also of a value to itself", "ops.add",
        "pains/test_a_tape.py::test_a_node_used_twice_is_visited_once "
        "pains/test_c_shapes.py::test_broadcast_operands_get_summed_gradients "
        f"{SHAPES}::test_an_op_at_its_size",
        "operands broadcast as in NumPy, and gradients are summed back",
    ),
    Entry(
        "12", "products alpha A B + bias, with gradients for two matrices or two equal batches", "ops.matmul",
        f"{SHAPES}::test_products_in_every_layout_with_and_without_a_bias "
        "ops/test_complex_step.py::test_gradients_agree_with_the_complex_step "
        f"{SWEEP}::test_second_derivatives_through_products_of_matrices "
        f"{CONTRACTS}::test_rows_of_a_cache_equal_a_compact_copy",
        "each layout, broadcast batches and the first rows of a cache have gradients too",
    ),
    Entry(
        "13", "gelu in its tanh form, layer normalisation, softmax: what is saved is x, x and gamma, and the output",
        "ops.gelu ops.layernorm ops.softmax",
        f"{NUMBERS}::test_gelu_slope {SHAPES}::test_an_op_at_its_size "
        f"{SHAPES}::test_masked_places_have_neither_weight_nor_gradient_and_rows_add_up "
        f"{CONTRACTS}::test_little_is_saved_for_backward",
    ),
    Entry(
        "14", "heads: packed rows as q, k and v, whose three gradients are each mostly zeros",
        "ops.split_heads ops.merge_heads",
        f"{HEADS}::test_absent_gradients_count_as_zero_and_one_kernel_packs_them {HEADS}::test_round_trips "
        f"{HEADS}::test_layout_by_hand",
        "one kernel packs the three gradients, so that no zeros are written and added",
    ),
    Entry(
        "15", "embedding of tokens and places; the gradient of the table is a scatter into zeros", "ops.embedding",
        f"{SHAPES}::test_an_op_at_its_size {SCATTER}::test_contributions_keep_their_order "
        "backends/forgenb_cuda/test_gpt.py::test_a_step_copies_its_batch_and_what_is_read "
        f"{SCATTER}::test_a_table_of_more_than_128_mib_is_looked_up_and_has_a_gradient",
        "places may be left out, ids may have any shape, rows are added in a fixed order, and no zeros come from the "
        "host",
    ),
    Entry(
        "16", "dropout that saves nothing: the mask is drawn again in backward; a rate of 0 records nothing",
        "ops.dropout",
        "backends/forgenb_cuda/test_ops.py::test_dropout_masks_are_those_of_the_cpu "
        "routine/test_scratch.py::test_dropout_that_is_drawn_again_draws_the_same "
        f"{CONTRACTS}::test_little_is_saved_for_backward {CONTRACTS}::test_a_rate_of_0_records_nothing "
        f"{RANDOMS}::test_dropout_rate_is_checked",
    ),
    Entry(
        "17", "a sweep from a root and a seed: gradients by number, none where nothing arrives; closures and inner "
        "gradients are freed as they are used",
        "Tape.backward Tensor.backward",
        f"{LIST}::test_backward_lists_gradients_by_entry {SWEEP}::test_a_seed_weighs_the_elements "
        f"{SWEEP}::test_a_sweep_frees_values_and_gradients_as_it_uses_them "
        "pains/test_a_tape.py::test_the_message_of_a_consumed_graph_is_one_short_paragraph "
        f"{SWEEP}::test_inner_gradients_are_kept_where_asked_for",
        "a second sweep is an error that says how to have one, and inner gradients are kept where they are asked for",
    ),
    Entry(
        "18", "no loss on the tape: it is seeded at the logits", "ops.cross_entropy",
        f"{GPT}::test_loss_logits_and_every_gradient_agree {NUMBERS}::test_loss_and_slope_of_a_certain_miss_agree",
        "a loss is an op like others; a seed at the logits does too",
    ),
    Entry(
        "19", "unmerged: embedding without places, softmax up to a length, mean over rows up to a length, unit length",
        "ops.embedding ops.where ops.mean ops.norm",
        f"{SHAPES}::test_an_op_at_its_size "
        "ops/test_ids.py::test_an_embedding_refuses_negative_ids_with_and_without_places "
        "pains/test_f_training.py::test_a_mask_to_add_holds_only_zeros_and_infinities "
        "pains/test_d_conventions.py::test_a_norm_at_zero_has_slope_zero",
        "it is unmerged there, and written in ops here: a mask is added or chosen by where",
    ),
    Entry(
        "20", "absent there: other arithmetic, reductions, shapes, broadcasting, derivatives of derivatives, hooks",
        "ops grad hvp jvp custom_op",
        "ops/test_table.py::test_every_op_that_records_has_a_row "
        "ops/test_second_order.py::test_second_derivatives_agree_with_differences_of_the_first_or_are_refused "
        "test_functional.py::test_a_custom_op_uses_its_rule_and_its_name",
        "a library that people keep using needs them",
    ),
]  # fmt: skip

OPS = [
    Entry(
        "21", "one checked function an op, and then a kernel for each device", "ops",
        f"{AGREE}::test_a_new_op_needs_no_line_in_a_plugin {AGREE}::test_no_plugin_names_an_op_or_a_kernel "
        "ops/test_table.py::test_a_row_is_complete",
        "a kernel is written once, as a Python function, and each backend binds it",
    ),
    Entry(
        "22", "matmul: batches, transposes, alpha before the bias, the first rows of each matrix of a cache",
        "ops.matmul",
        f"{SHAPES}::test_products_in_every_layout_with_and_without_a_bias {SHAPES}::test_an_op_at_its_size "
        f"{CONTRACTS}::test_rows_of_a_cache_equal_a_compact_copy {CONTRACTS}::test_rows_of_what_has_none_are_refused "
        "ops/test_degenerate.py::test_a_product_of_nothing_is_its_bias_and_has_gradients",
    ),
    Entry(
        "23", "a product with a table in chunks, and embedding from one: a binding may be too small for all of it",
        "ops.matmul ops.concat ops.embedding",
        f"{CONTRACTS}::test_chunked_head_equals_whole_head "
        f"{SCATTER}::test_a_table_of_more_than_128_mib_is_looked_up_and_has_a_gradient",
        "a buffer here has any size; who wants chunks joins the products of slices",
    ),
    Entry(
        "24", "gelu by tanh, with the constant 0x3f4c422a, and its derivative", "ops.gelu ops.gelu_grad ops.gelu_erf",
        f"{NUMBERS}::test_gelu {NUMBERS}::test_gelu_slope {NUMBERS}::test_gelu_far_out "
        f"{SHAPES}::test_the_slope_of_gelu_is_that_of_differences",
        "1 + tanh cancels below zero: the sigmoid of twice the argument does not, and is right to the last digits; "
        "erf has an op of its own",
    ),
    Entry(
        "25", "layernorm: two passes, biased variance, eps under the root; dx, dgamma and dbeta",
        "ops.layernorm ops.layernorm_grad",
        f"{SHAPES}::test_an_op_at_its_size ops/test_norms.py::test_what_does_not_fit_is_refused "
        "ops/test_sums.py::test_statistics_of_a_long_row_far_from_zero",
    ),
    Entry(
        "26", "softmax with a causal mask by the number of a row, exact zeros, an offset for a cache",
        "ops.softmax ops.softmax_grad",
        f"{NUMBERS}::test_causal_softmax {CONTRACTS}::test_cached_attention_equals_uncached_for_64_tokens "
        f"{SHAPES}::test_masked_places_have_neither_weight_nor_gradient_and_rows_add_up",
    ),
    Entry(
        "27", "embedding with places from a start, for equal sequences one after another", "ops.embedding",
        f"{SHAPES}::test_an_op_at_its_size ops/test_degenerate.py::test_it_is_refused",
        "sequences are an axis of the ids, so that no length has to be passed and none can be wrong",
    ),
    Entry(
        "28", "rows appended to a cache in place", "ops.kv_append ops.kv_put",
        f"{CONTRACTS}::test_cached_attention_equals_uncached_for_64_tokens "
        "ops/test_cached_attention.py::test_a_put_writes_one_row_of_each_head_and_bumps_the_version "
        "test_copies.py::test_a_write_reaches_views_and_no_copies_on_any_backend",
    ),
    Entry(
        "29", "heads and batch in one leading axis; columns q, k, v and then heads; their inverses, one third in zeros",
        "ops.split_heads ops.merge_heads ops.unsplit_head ops.unmerge_heads ops.unsplit_heads",
        f"{HEADS}::test_layout_by_hand {HEADS}::test_round_trips {HEADS}::test_errors "
        f"{SHAPES}::test_heads_of_four_columns_come_back",
    ),
    Entry(
        "30", "attention as these ops one after another, all weights of it kept", "ops.attention ops.unfused_attention",
        f"{CONTRACTS}::test_attention_agrees_with_its_parts {CONTRACTS}::test_attention_keeps_nothing_of_time_by_time "
        f"{CONTRACTS}::test_memory_of_attention_grows_with_time_and_not_with_its_square "
        "pains/test_f_training.py::test_all_ways_to_attend_agree",
        "memory should grow with the length and not with its square: one op does it a few heads at a time",
    ),
    Entry(
        "31", "sums over all axes but the last", "ops.sum_rows ops.sum",
        f"{SCATTER}::test_sum_rows ops/test_sums.py::test_any_number_of_threads_gives_the_same_bits",
    ),
    Entry(
        "32", "rows added where ids say, in place; ids are checked on the processor alone",
        "ops.scatter_add_ ops.scatter_add",
        f"{SCATTER}::test_scatter_adds_where_ids_repeat {SHAPES}::test_an_op_at_its_size "
        "ops/test_ids.py::test_every_backend_refuses_ids_out_of_range_before_a_launch",
        "ids are checked before a launch, on every backend; there is a form that writes a new tensor",
    ),
    Entry(
        "33", "the loss of rows from probabilities, which ends at 87.34, and its gradient",
        "ops.cross_entropy ops.nll_loss",
        f"{NUMBERS}::test_loss_and_slope_of_a_certain_miss_agree {NUMBERS}::test_cross_entropy_does_not_saturate "
        f"{SHAPES}::test_gradients_of_a_loss_add_up_to_nothing_in_each_row",
        "it is computed from logits, and neither ends nor rounds to 0",
    ),
    Entry(
        "34", "sums of squares of all tensors in one trip, and a product with a number",
        "ops.sumsq optim.global_norm ops.scale",
        f"{SHAPES}::test_an_op_at_its_size optim/test_clip.py::test_the_norm_is_that_of_all_elements_together "
        "optim/test_clip.py::test_the_norm_reads_the_device_once",
    ),
    Entry(
        "35", "a step of AdamW in place, its bias corrections computed on the host", "optim.AdamW",
        "optim/test_optimizers.py::test_adamw_by_hand optim/test_optimizers.py::test_five_steps_follow_the_papers "
        f"{GPT}::test_three_adamw_steps_agree",
    ),
]  # fmt: skip

RANDOM = [
    Entry(
        "36", "masks by a hash of the element's number and a seed, with a scale computed once on the host",
        "random.pcg_hash random.dropout_keep random.dropout_scale",
        f"{RANDOMS}::test_pcg_hash_vectors {RANDOMS}::test_dropout_keeps_the_published_count "
        f"{RANDOMS}::test_dropout_keeps_the_published_bits {RANDOMS}::test_dropout_scale_bits "
        f"{AGREE}::test_random_numbers_are_bit_equal kernel/test_primitives.py::test_pcg_hash_has_its_known_values",
    ),
    Entry(
        "37", "a seed for each place of a model: one for the embeddings, three a layer", "random.site_seed models.GPT",
        f"{RANDOMS}::test_site_seed_vectors {GPT}::test_a_pass_asks_for_one_site_each "
        f"{GPT}::test_the_sum_of_embeddings_is_dropped_by_the_first_site",
    ),
    Entry(
        "38", "one counter of 32 bits, so that seeds look into one pool", "random.generator",
        f"{RANDOMS}::test_dropout_of_a_part_is_the_part_of_the_whole "
        f"{RANDOMS}::test_generator_is_keyed_by_seed_name_and_step",
        "masks are the same as there; all else is drawn from streams that are keyed by seed, name and step",
    ),
]  # fmt: skip
