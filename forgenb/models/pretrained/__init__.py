"""GPT-2 in files as the Hugging Face hub has them: `config.json`, and safetensors, whole or in shards.

`loading` and `saving` are what `GPT.from_pretrained` and `GPT.save_pretrained` do. Imports its own modules when they
are asked for; nothing here uses a network.
"""
