package org.metrale.gpu.nvml;

/**
 * Where a device sits on PCIe, and what it says it is.
 *
 * @param domain the domain
 * @param bus the bus
 * @param device the device on the bus
 * @param deviceId device id in the upper half, vendor id in the lower
 * @param subsystemId the same of the board
 */
public record NvmlPci(long domain, long bus, long device, long deviceId, long subsystemId) {}
