# SPDX-License-Identifier: Apache-2.0
"""What the study of accuracy does with any network: prune it, permute it, and train it on with its masks."""
import sys

import torch

import sptcsim

VARIANTS = ("dense", "2:4", "2:4, permuted", "2:4, fine-tuned")


class Subject:
    """A network to study: its dense file, what is pruned of it, and a figure of merit.

    load(path) makes the network of a file, measure(network) its figure in per cent. tune(network, dense, masks), if there is one,
    trains it in place.
    """
    name = figure = ""
    layers = exclude = tune = None
    permute = ()

    def variants(self, folder):
        """The networks of VARIANTS."""
        files = {"2:4": folder / f"{self.name}_pruned{self.dense.suffix}",
                 "2:4, permuted": folder / f"{self.name}_permuted{self.dense.suffix}"}
        for variant, path in files.items():
            sptcsim.prune_model(self.dense, path, layers=self.layers, exclude=self.exclude,
                                permute=self.permute if "permuted" in variant else ())
        result = {variant: self.load(path) for variant, path in {"dense": self.dense, **files}.items()}
        result["2:4, fine-tuned"] = self.fine_tuned(result, files)
        return {variant: network for variant, network in result.items() if network is not None}

    def fine_tuned(self, known, files):
        """The permuted network, trained on with its masks; None where nothing trains it."""
        if self.tune is None:
            return None
        network = self.load(files["2:4, permuted"])
        masks = {name: network.t[name] != 0 for name in network.names
                 if not torch.equal(network.t[name] == 0, known["dense"].t[name] == 0)}
        self.tune(network, known["dense"], masks)
        return network


def distil(network, dense, masks, inputs, loss, steps, rate):
    """Trains `network` on what `dense` makes of inputs(), by the gradient of loss(inputs, that). Weights outside of `masks` stay zero."""
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        optimizer.zero_grad()
        drawn = inputs()
        with torch.no_grad():
            target = dense(drawn)
        value = loss(drawn, target)
        value.backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for name, mask in masks.items():
                network.t[name].mul_(mask)
        if step % 20 == 0 or step == steps - 1:
            print(f"fine-tuning, step {step}: loss {value.item():.4g}", file=sys.stderr, flush=True)
