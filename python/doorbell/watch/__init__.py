# SPDX-License-Identifier: Apache-2.0
"""A web page with what runs on this machine: `./doorbell watch`."""
