# %% [markdown]
# # 1. Slopes by differences
#
# $$ f'(x) = \lim_{h \to 0} \frac{f(x + h) - f(x)}{h} $$

# %%
def f(x):
    return x * x


assert abs((f(3.0 + 1e-6) - f(3.0 - 1e-6)) / 2e-6 - 6.0) < 1e-8
