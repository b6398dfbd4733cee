"""How forge-ml 0.1.0 trains, what its GPT-2 does and what stands around it, and what forgenb has for each. As data.

`tape_page` writes it down; tests look up every function and every test that is named here. Imports the kind of row.
"""

from __future__ import annotations

from .entries import Entry

__all__ = ["AROUND", "GPT2", "TRAINING"]

GPT = "models/test_gpt.py"
DECODER = "models/test_decoder.py"
GENERATE = "models/test_generate.py"
SAMPLER = "models/test_sampler.py"
LOADING = "models/pretrained/test_loading.py"
BATCHES = "data/test_batches.py"
CHARS = "data/test_tokenizer.py"
PAIRS = "data/test_bpe.py"
RUN = "train/characters/test_char_run.py"
FULL = "train/test_full_state.py"

TRAINING = [
    Entry(
        "39", "the loss of one sequence, without and with gradients, and of several of equal length", "models.GPT.loss",
        f"{GPT}::test_loss_logits_and_every_gradient_agree {GPT}::test_parts_of_a_batch_add_up_to_the_whole "
        f"{GPT}::test_impossible_ids_are_refused",
        "ids are [batch, time], so one sequence is a batch of one, and lengths that differ cannot be passed",
    ),
    Entry(
        "40", "a tied head: the table has its gradient from both ends", "models.GPT.head",
        f"{GPT}::test_the_head_is_tied {GPT}::test_loss_logits_and_every_gradient_agree",
    ),
    Entry(
        "41", "AdamW with decay for matrices alone, clipping by the norm before it, which a step returns; its state "
        "cannot be saved",
        "optim.AdamW optim.clip_grad_norm",
        f"{GPT}::test_three_adamw_steps_agree {GPT}::test_decay_is_for_matrices_only "
        "optim/test_clip.py::test_clipping_scales_gradients_to_the_norm "
        "optim/test_clip.py::test_nothing_changes_up_to_the_norm "
        "optim/test_clip.py::test_a_norm_that_is_not_finite_updates_nothing "
        "optim/test_resume.py::test_a_resumed_run_has_the_same_bits_in_another_process",
        "a run has to go on: the state is saved, and a norm that is not finite updates nothing",
    ),
    Entry(
        "42", "a trainer of characters as an example: nanoGPT's recipe, warm-up, cosine, clipping, flags",
        "train.CharRun train.TrainConfig train.Trainer train.AccumulatedStep optim.warmup_cosine",
        "train/characters/test_config.py::test_defaults_are_the_recipe "
        "train/characters/test_config.py::test_rate_warms_up_then_follows_a_cosine "
        "optim/test_schedules.py::test_published_rates cli/test_train.py::test_options_reach_the_run "
        f"{RUN}::test_what_a_step_does cli/test_train.py::test_options_of_fine_tuning_reach_the_run "
        "train/characters/test_starting.py::test_frozen_tables_keep_their_bits_under_decay "
        "train/workers/test_accumulated.py::test_parts_have_the_loss_gradients_and_masks_of_the_whole_batch "
        "train/loop/test_masks.py::test_under_the_rule_of_passes_a_step_has_a_thousand",
        "it is a program, forgenb train, on a loop for any model; its defaults are the recipe for a processor",
    ),
    Entry(
        "43", "lines of the log, metrics at each evaluation, the best checkpoint and the last, early stopping",
        "train.StepReport train.BestCheckpoint train.EarlyStopping train.read_metrics",
        "train/loop/test_callbacks.py::test_the_best_model_is_kept train/loop/test_callbacks.py::test_early_stopping "
        "cli/test_train.py::test_json_lines train/persistence/test_metrics.py::test_lines_are_appended "
        f"{RUN}::test_best_is_kept_when_validation_improves",
        "every step has a line, so that a curve can be drawn; vocabulary and choices are in the checkpoint too",
    ),
    Entry(
        "44", "evaluation of windows that do not depend on chance, each on its own; the first 9 parts of 10 for "
        "training",
        "train.evaluate data.windows data.split",
        f"{BATCHES}::test_windows_do_not_overlap_and_leave_none_out data/test_text.py::test_split_is_by_position "
        "train/loop/test_evaluate.py::test_mean_of_all_windows",
        "all windows are taken where there they may be strided; 111,540 characters are 435 windows of 256 here too",
    ),
]  # fmt: skip

GPT2 = [
    Entry(
        "45", "sizes from config.json: n_ctx or n_positions, an epsilon; other keys are not read", "models.GPTConfig",
        "models/pretrained/test_config.py::test_sizes_alone_are_enough "
        "models/test_trace.py::test_the_end_of_a_config_is_where_texts_end_by_default "
        "models/pretrained/test_config.py::test_a_model_that_gpt_is_not "
        "models/pretrained/test_config.py::test_what_is_no_config",
        "a key that is not read gives another model in silence: what GPT does not compute is refused by name",
    ),
    Entry(
        "46", "blocks that normalise first, learned places, a last norm, scores over the root of the width of a head",
        "models.GPT",
        f"{GPT}::test_loss_logits_and_every_gradient_agree {GPT}::test_a_token_does_not_see_later_ones "
        f"{LOADING}::test_logits_and_greedy_ids_of_another_library",
    ),
    Entry(
        "47", "initial values from N(0, 0.02), those that end in the residual stream smaller; biases 0, norms 1",
        "models.GPT nn.init",
        f"{GPT}::test_exactly_the_residual_projections_start_smaller "
        f"{GPT}::test_values_come_from_the_seed_and_the_full_name {GPT}::test_the_first_loss_is_that_of_guessing",
        "its generator is not to be had in NumPy: values are keyed by seed and name, and equal on all backends",
    ),
    Entry(
        "48", "names of the tensors as on the hub, 2 + 12 L + 2 of them; the number of parameters",
        "models.GPT.named_parameters models.GPTConfig.parameters",
        f"{GPT}::test_names_are_those_of_gpt2_in_order {GPT}::test_parameter_counts "
        f"{LOADING}::test_the_prefix_does_not_matter",
    ),
    Entry(
        "49", "safetensors of 32-bit floats; a missing tensor is named; saving keeps every bit",
        "models.GPT.from_pretrained models.GPT.save_pretrained",
        f"{LOADING}::test_the_parameters_are_those_of_the_file {LOADING}::test_all_that_does_not_fit_is_in_one_error "
        f"{LOADING}::test_bfloat16 {LOADING}::test_shards "
        "models/pretrained/test_saving.py::test_the_tensors_of_the_golden_come_back",
        "the hub has other dtypes and shards too, and one error should name all that is wrong",
    ),
    Entry(
        "50", "a file of 4 bits a number in groups of 64, norms and biases too; its header is read by itself",
        "models.GPT.save_quantized train.quantize_run",
        "models/pretrained/test_quantized.py::test_what_is_saved_is_loaded "
        "models/pretrained/test_quantized.py::test_norms_and_biases_are_not_touched "
        "models/pretrained/test_quantized.py::test_a_large_model_is_more_than_five_times_smaller "
        "storage/quantized/test_groups.py::test_the_ends_of_each_group_are_exact "
        "storage/quantized/test_groups.py::test_the_low_half_of_a_byte_comes_first",
        "norms and biases are few and worth every bit: they are left alone; both ends of a group are kept, so they are "
        "exact; and it is a safetensors file, which others read too",
    ),
    Entry(
        "51", "a cache of keys and values, filled by a prompt and then an id at a time; past the context is an error",
        "models.Decoder",
        f"{DECODER}::test_64_greedy_ids_and_their_logits_are_those_without_a_cache "
        f"{DECODER}::test_caches_have_the_shape_and_dtype_of_the_model "
        f"{DECODER}::test_a_full_sequence_is_refused_and_so_are_longer_prompts "
        f"{DECODER}::test_prompts_of_any_length_and_width_are_read",
        "a step is one routine, and sequences of several lengths are read side by side",
    ),
    Entry(
        "52", "generating, streamed with a callback that may stop, until an id ends it or the context is full",
        "models.generate models.stream models.generate_batch data.TextStream",
        f"{GENERATE}::test_streaming_is_the_same_one_id_at_a_time "
        f"{GENERATE}::test_the_end_is_not_added_and_others_go_on "
        f"{GENERATE}::test_a_callback_sees_each_id_and_may_stop {GENERATE}::test_the_window_slides_over_the_last_ids "
        f"{GENERATE}::test_impossible_requests_are_refused_before_the_first_id "
        "data/test_text_stream.py::test_a_character_waits_for_its_last_byte",
        "a text may be longer than the context: a window slides; a stream is an iterator, which who reads it may leave",
    ),
    Entry(
        "53", "choices: greedy, or among the k greatest by a seed", "models.Greedy models.Sampler models.next_id",
        f"{SAMPLER}::test_top_k_chooses_among_the_greatest_with_ties_by_id "
        f"{SAMPLER}::test_draws_fit_the_exact_probabilities "
        f"{SAMPLER}::test_of_equal_logits_all_ways_to_be_greedy_take_the_first "
        f"{SAMPLER}::test_a_sampler_goes_on_where_its_state_was_taken",
        "top-p is asked for, and a sampler's state can be saved",
    ),
    Entry(
        "54", "traces: attention of all layers, all values of the first ones, read together; the text stays the same",
        "models.Tracer models.StepTrace models.LayerDetail models.top_probs",
        "models/test_trace.py::test_every_value_is_that_of_numpy "
        "models/test_trace.py::test_one_synchronisation_for_each_id "
        "models/test_trace.py::test_logits_have_the_same_bits_with_and_without_a_trace "
        "models/test_trace.py::test_what_is_asked_for_is_noted_and_no_more "
        "models/test_trace.py::test_most_probable_ids_with_ties_by_id",
        "there is a record for each id that is generated and none for a pass that nobody uses; each sequence of a "
        "batch "
        "has its own",
    ),
    Entry(
        "55", "tokenizers: GPT-2's pairs of bytes, and characters with strict and lossy encoding and a checked file",
        "data.GPT2Tokenizer data.CharTokenizer",
        f"{PAIRS}::test_ids_are_those_of_the_library {PAIRS}::test_every_byte_comes_back "
        f"{CHARS}::test_encode_names_the_first_unknown_character "
        f"{CHARS}::test_lossy_encoding_leaves_unknown_characters_out {CHARS}::test_json_is_validated",
        "encoding pairs is left to the library tokenizers, which is fast; ids that are unknown are refused",
    ),
]  # fmt: skip

AROUND = [
    Entry(
        "56", "the bits of a text by a model that reads it, with the most likely ids at each place",
        "models.surprisal models.Surprisal",
        "models/test_surprisal.py::test_a_text_of_one_context_and_one_more_is_one_pass "
        "models/test_surprisal.py::test_candidates_are_the_most_probable "
        "models/test_surprisal.py::test_longer_texts_are_read_in_windows "
        "models/test_surprisal.py::test_refusals",
        "a text may be longer than the context: it is read in windows; forgenb surprise shows it in colours",
    ),
    Entry(
        "57", "a council: models of one shape that share their embeddings, weighed by how sure they are",
        "models.Council models.CouncilDecoder",
        "models/test_council.py::test_weights_entropies_and_logits "
        "models/test_council.py::test_the_default_beta_is_two_and_zero_is_uniform "
        "models/test_council.py::test_experts_without_the_same_bits_are_refused "
        "models/test_council_decoder.py::test_a_report_is_about_the_last_answer",
        "merging hidden vectors means something only under one table: that it has the same bits in all is checked",
    ),
    Entry(
        "58", "a program in the terminal that shows models, speed and the GPU while it generates",
        "stats Routine.profile bench.decode",
        "cli/test_doctor.py::test_text routine/test_profile.py::test_tables_by_scope_and_by_statement "
        "cli/test_bench.py::test_decode_has_all_shapes_and_contenders",
        "a library is looked at by what it prints: forgenb doctor tells of the machine, forgenb bench of speed, "
        "routine.profile() of time and memory",
    ),
    Entry(
        "59", "the model in a browser, without training, and pages that show its choices and its attention", "", "",
        "Numba compiles for processors and GPUs, and none of it runs in a browser",
    ),
    Entry(
        "60", "unmerged: an encoder of sentences with sinusoidal places, a masked mean, masked tokens, contrast, "
        "nested lengths",
        "nn.MultiHeadAttention ops.norm ops.cross_entropy",
        "nn/test_more_layers.py::test_attention_over_a_memory_and_by_place "
        "nn/test_more_layers.py::test_fused_and_unfused_attention_agree",
        "it is unmerged there: the layers that it is made of are here, the model is not",
    ),
]  # fmt: skip
