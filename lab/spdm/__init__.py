"""The roots of trust of components: keys, certificates, and what they sign about the firmware they run (SPDM)."""
