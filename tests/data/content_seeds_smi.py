"""Healthy long forms of nvidia-smi for `content_seeds`: the same two GPUs as text and as XML."""

from __future__ import annotations

_BLOCK = """GPU 00000000:{bus}:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 900000000000{gpu}
    GPU UUID                              : GPU-00000000-0000-0000-0000-00000000000{gpu}
    VBIOS Version                         : 96.00.74.00.0D
    PCI
        Bus                               : 0x{bus}
        Device                            : 0x00
        Domain                            : 0x0000
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
        Tx Throughput                     : 3875 KB/s
        Rx Throughput                     : 574 KB/s
    Clocks Event Reasons
        Idle                              : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 0 MiB
        Free                              : 81007 MiB
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2560 bank(s)
            High                          : 0 bank(s)
            Partial                       : 0 bank(s)
            Low                           : 0 bank(s)
            None                          : 0 bank(s)
    Temperature
        GPU Current Temp                  : 3{gpu} C
    GPU Power Readings
        Power Draw                        : 7{gpu}.50 W
        Current Power Limit               : 700.00 W
    Processes                             : None
"""
_HEAD = """
==============NVSMI LOG==============

Timestamp                                 : Mon Nov 30 11:22:39 2026
Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 2
"""
TEXT = _HEAD + "".join(_BLOCK.format(gpu=gpu, bus=bus) for gpu, bus in ((1, "19"), (2, "3B")))
_ELEMENT = """ <gpu id="00000000:{bus}:00.0">
  <product_name>NVIDIA H200</product_name>
  <serial>900000000000{gpu}</serial>
  <uuid>GPU-00000000-0000-0000-0000-00000000000{gpu}</uuid>
  <vbios_version>96.00.A5.00.01</vbios_version>
  <pci><pci_gpu_link_info>
   <pcie_gen>
    <max_link_gen>5</max_link_gen>
    <current_link_gen>5</current_link_gen>
   </pcie_gen>
   <link_widths>
    <max_link_width>16x</max_link_width>
    <current_link_width>16x</current_link_width>
   </link_widths>
  </pci_gpu_link_info>
  <pci_bus>{bus}</pci_bus>
  <pci_device>00</pci_device>
  <pci_domain>0000</pci_domain>
  <replay_counter>0</replay_counter>
  <tx_util>0 KB/s</tx_util>
  <rx_util>0 KB/s</rx_util>
  </pci>
  <clocks_event_reasons>
   <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
   <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
   <clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
  </clocks_event_reasons>
  <fb_memory_usage>
   <total>143771 MiB</total>
   <used>1 MiB</used>
   <free>143000 MiB</free>
  </fb_memory_usage>
  <ecc_errors><volatile>
   <sram_correctable>0</sram_correctable>
   <sram_uncorrectable_parity>0</sram_uncorrectable_parity>
  </volatile></ecc_errors>
  <remapped_rows>
   <remapped_row_corr>0</remapped_row_corr>
   <remapped_row_unc>0</remapped_row_unc>
   <remapped_row_pending>No</remapped_row_pending>
   <remapped_row_failure>No</remapped_row_failure>
   <row_remapper_histogram>
    <row_remapper_histogram_max>3072 bank(s)</row_remapper_histogram_max>
    <row_remapper_histogram_high>0 bank(s)</row_remapper_histogram_high>
    <row_remapper_histogram_partial>0 bank(s)</row_remapper_histogram_partial>
    <row_remapper_histogram_low>0 bank(s)</row_remapper_histogram_low>
    <row_remapper_histogram_none>0 bank(s)</row_remapper_histogram_none>
   </row_remapper_histogram>
  </remapped_rows>
  <temperature>
   <gpu_temp>3{gpu} C</gpu_temp>
   <gpu_temp_tlimit>5{gpu} C</gpu_temp_tlimit>
  </temperature>
  <gpu_power_readings>
   <average_power_draw>75.1{gpu} W</average_power_draw>
   <current_power_limit>700.00 W</current_power_limit>
  </gpu_power_readings>
  <processes>
  </processes>
 </gpu>
"""
XML = (
    '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>\n'
    " <driver_version>580.82.09</driver_version>\n <cuda_version>13.0</cuda_version>\n"
    " <attached_gpus>2</attached_gpus>\n"
    + "".join(_ELEMENT.format(gpu=gpu, bus=bus) for gpu, bus in ((1, "19"), (2, "3B")))
    + "</nvidia_smi_log>\n"
)
