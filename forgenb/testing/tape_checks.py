"""How forge-ml 0.1.0 is checked and how closely, and how forgenb is. As data.

`tape_page` writes it down; tests look up every function and every test that is named here. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["CHECKS"]

CONTRACTS = "ops/test_contracts.py"
SHAPES = "ops/test_published_shapes.py"
NUMBERS = "ops/test_published_numbers.py"
AGREE = "backends/test_agreement.py"
GPT = "models/test_gpt.py"
DECODER = "models/test_decoder.py"
GENERATE = "models/test_generate.py"
LOADING = "models/pretrained/test_loading.py"

CHECKS = [
    Entry(
        "v1", "ops on the GPU beside the processor, to 1e-4, at sizes from 1 to 70,000", "ops testing.check_backend",
        f"{SHAPES}::test_an_op_at_its_size {SHAPES}::test_products_in_every_layout_with_and_without_a_bias "
        "backends/forgenb_cuda/test_ops.py::test_an_op_passes_the_kit_on_its_smallest_samples "
        "testing/test_kit.py::test_bounds_are_of_ops_and_have_reasons_where_loosened",
        "both could be wrong alike: every backend is held against NumPy in float64, at these sizes to 1e-5 of the "
        "largest element, and in the kit to units in the last place",
    ),
    Entry(
        "v2", "exact: a transposed factor, chunks of a table, heads there and back, rows of a cache in their place; "
        "a view of a cache to 1e-4",
        "ops.matmul ops.split_heads ops.kv_append",
        f"{CONTRACTS}::test_chunked_head_equals_whole_head {SHAPES}::test_heads_of_four_columns_come_back "
        f"{CONTRACTS}::test_rows_of_a_cache_equal_a_compact_copy "
        "ops/test_heads.py::test_round_trips",
        "a view of a cache gives every bit of a compact copy; products over chunks may round in another order, and are "
        "held to 1e-13",
    ),
    Entry(
        "v3", "gradients of ops on the GPU beside the processor, to 1e-3", "gradcheck",
        "ops/test_complex_step.py::test_gradients_agree_with_the_complex_step "
        "ops/test_table.py::test_gradients_agree_with_differences "
        "backends/forgenb_cuda/test_ops.py::test_an_op_agrees_with_its_reference_and_its_gradients_with_the_cpu "
        f"{SHAPES}::test_an_op_at_its_size",
        "one formula on both sides is not checked by that: rules are held against the complex step in float64",
    ),
    Entry(
        "v4", "the slope of gelu by differences, to 2 in 100", "ops.gelu_grad",
        f"{SHAPES}::test_the_slope_of_gelu_is_that_of_differences {NUMBERS}::test_gelu_slope",
        "float64 and a fitting step are good to 1e-9",
    ),
    Entry(
        "v5", "masked gradients are 0; normalisation 37 x 300, 200 rows onto 8, a loss of 13 x 97 by hand, sums of "
        "squares to 1e-4",
        "ops.softmax_grad ops.layernorm_grad ops.scatter_add ops.cross_entropy ops.sumsq",
        f"{SHAPES}::test_masked_places_have_neither_weight_nor_gradient_and_rows_add_up "
        f"{SHAPES}::test_an_op_at_its_size {SHAPES}::test_gradients_of_a_loss_add_up_to_nothing_in_each_row",
        "the same sizes pass closer bars, 1e-5 and below",
    ),
    Entry(
        "v6", "masks of dropout equal bit for bit, and as many kept as expected", "ops.dropout random.dropout_keep",
        f"{AGREE}::test_random_numbers_are_bit_equal test_random.py::test_dropout_keeps_the_published_count",
    ),
    Entry(
        "v7", "two steps of AdamW beside a loop, to 1e-6", "optim.AdamW",
        "optim/test_optimizers.py::test_adamw_by_hand optim/test_optimizers.py::test_five_steps_follow_the_papers "
        f"{GPT}::test_three_adamw_steps_agree",
        "five steps of each optimiser agree to 1e-12 in float64, and three of a GPT with those of another library",
    ),
    Entry(
        "v8", "some gradients of a small model by differences; the bar 1e-2 is absolute, so that those below it pass "
        "whatever they are",
        "models.GPT gradcheck",
        f"{GPT}::test_loss_logits_and_every_gradient_agree "
        "models/test_gpt_training.py::test_every_gradient_follows_central_differences "
        "gradcheck/test_check.py::test_a_small_gradient_that_is_right_passes "
        "gradcheck/test_unusual.py::test_a_small_gradient_beside_large_outputs_is_still_checked",
        "every gradient of a GPT is held against another library, to 1e-10 of its largest in float64 and 1e-4 in "
        "float32; checks of one's own are relative",
    ),
    Entry(
        "v9", "the model on the GPU beside the processor: its loss to 1e-4, gradients to 1e-3, with dropout too",
        "models.GPT",
        f"{AGREE}::test_a_tiny_gpt_has_the_same_first_losses {AGREE}::test_a_tiny_gpt_has_the_same_gradients "
        f"{AGREE}::test_a_small_gpt_agrees_for_ten_steps",
        "gradients are held to 1e-5 of the largest of each",
    ),
    Entry(
        "v10", "a pattern of six learned by heart in 60 steps, to a quarter of the first loss",
        "models.GPT optim.AdamW",
        f"{GPT}::test_a_toy_is_learned_by_heart",
        "the loss ends below 0.05, and the model then says the pattern",
    ),
    Entry(
        "v11", "a checkpoint there and back: parameters bit for bit, the same loss",
        "save load models.GPT.save_pretrained",
        "train/characters/test_checkpoint.py::test_round_trip "
        f"models/pretrained/test_saving.py::test_what_is_saved_is_loaded {GPT}::test_a_saved_model_has_the_same_loss",
    ),
    Entry(
        "v12", "a batch beside the mean of its parts: the loss to 1e-4, gradients to 2e-5, without dropout",
        "models.GPT",
        f"{GPT}::test_parts_of_a_batch_add_up_to_the_whole "
        "train/workers/test_accumulated.py::test_parts_have_the_loss_gradients_and_masks_of_the_whole_batch",
        "masks count from the first sample of the batch, so it holds with dropout too, to 1e-12",
    ),
    Entry(
        "v13", "GPT-2 beside the transformers library: logits to 1e-2, 15 greedy ids", "models.GPT.from_pretrained",
        f"{LOADING}::test_logits_and_greedy_ids_of_another_library",
        "weights of GPT-2 are no part of a repository: a small model that the library made is, with 64 greedy ids and "
        "logits to 1e-5",
    ),
    Entry(
        "v14", "64 greedy ids with a cache and without", "models.Decoder",
        f"{DECODER}::test_64_greedy_ids_and_their_logits_are_those_without_a_cache",
        "the logits are compared too, to 1e-5 and 1e-10",
    ),
    Entry(
        "v15", "ids of GPT-2's tokenizer for published texts, characters of a whole corpus there and back",
        "data.GPT2Tokenizer data.CharTokenizer",
        "data/test_bpe.py::test_ids_are_those_of_the_library "
        "data/test_tokenizer.py::test_round_trip_of_the_default_text "
        "data/test_tokenizer.py::test_ids_follow_sorted_characters",
        "its vocabulary is no part of a repository: ids are those of the library tokenizers for one that is trained in "
        "the test",
    ),
    Entry(
        "v16", "a stream is what generating gives, with one callback an id", "models.stream models.generate_batch",
        f"{GENERATE}::test_streaming_is_the_same_one_id_at_a_time "
        f"{GENERATE}::test_a_callback_sees_each_id_and_may_stop",
    ),
    Entry(
        "v17", "attention that is looked at: rows add up to 1, later places have none, the text stays the same",
        "models.Tracer ops.attention",
        "models/test_trace.py::test_rows_of_attention_sum_to_one_and_nothing_comes_from_the_future "
        "models/test_trace.py::test_logits_have_the_same_bits_with_and_without_a_trace "
        "ops/test_attention_weights.py::test_weights_on_each_backend",
        "logits keep every bit, and not only the text",
    ),
    Entry(
        "v18", "results do not depend on what memory held, nor on batching of launches", "settings compile",
        f"{CONTRACTS}::test_results_do_not_depend_on_what_memory_held "
        "backends/forgenb_python/test_interpret.py::test_memory_is_unwritten_until_it_is_written "
        "routine/test_compile.py::test_fifty_steps_have_the_bits_of_eager_ones",
    ),
    Entry(
        "v19", "the bits of a text are those of decoding it, to 2 in 1000; an untrained model knows nothing",
        "models.surprisal models.Decoder",
        "models/test_surprisal.py::test_bits_are_those_of_decoding "
        "models/test_surprisal.py::test_an_untrained_model_knows_nothing",
        "they agree to 1 in 10,000, and with plain NumPy",
    ),
    Entry(
        "v20", "a council of one is its model, and of equal weights a mean, to 1e-4", "models.Council",
        "models/test_council.py::test_a_council_of_one_has_the_bits_of_the_model "
        "models/test_council.py::test_the_default_beta_is_two_and_zero_is_uniform "
        "models/test_council.py::test_weights_entropies_and_logits",
        "a council of one has the bits of its model",
    ),
    Entry(
        "v21", "4 bits: an error below 0.15 on a sine, a header that lists what a full load gives",
        "models.GPT.save_quantized load",
        "storage/quantized/test_groups.py::test_a_sine "
        "storage/quantized/test_groups.py::test_the_error_is_at_most_half_a_step "
        "storage/quantized/test_reading.py::test_the_header_alone_lists_what_a_full_load_gives",
        "the error is bounded by half a step of its group, for numbers of any size",
    ),
    Entry(
        "v22", "goals: on pairs of bytes from the logarithm of the vocabulary to below 4, on characters to 1.48",
        "train.CharRun models.GPT",
        f"{GPT}::test_the_first_loss_is_that_of_guessing train/characters/test_char_run.py::test_a_real_model_learns",
        "hours of training are no test: first losses are the logarithm of the vocabulary, and a small run learns",
    ),
]  # fmt: skip
