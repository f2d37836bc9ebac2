package org.metrale.gpu.nvml;

import java.util.List;
import java.util.Objects;

/** The NVLinks of a device. A link is named by its number, from 0. */
public final class NvmlNvLinks {
  private final NvmlDevice device;

  NvmlNvLinks(NvmlDevice device) {
    this.device = device;
  }

  /**
   * How many links are up and how many there are.
   *
   * <p>A refusal other than "no such link" is the answer: a lost GPU has failed links, not none.
   *
   * @return the counts; absent where the device has no links
   * @wraps {@code nvmlDeviceGetNvLinkState}; nvml.h
   */
  public NvmlReading<NvmlLinkCount> count() {
    return device
        .query(NvmlQuery.LINKS, 0)
        .reading(answer -> new NvmlLinkCount(answer.value(0), answer.value(1)));
  }

  /**
   * Whether a link is up.
   *
   * @param link from 0
   * @return true if it is
   * @wraps {@code nvmlDeviceGetNvLinkState}; nvml.h
   */
  public NvmlReading<Boolean> isActive(int link) {
    return device.query(NvmlQuery.LINK_STATE, link).reading(NvmlAnswer::isTrue);
  }

  /**
   * The version of a link by NVML's number.
   *
   * @param link from 0
   * @return for example 7 for NVLink 5
   * @wraps {@code nvmlDeviceGetNvLinkVersion}; nvml.h
   */
  public NvmlReading<Long> version(int link) {
    return device.number(NvmlQuery.LINK_VERSION, link);
  }

  /**
   * What is at the other end of a link.
   *
   * @param link from 0
   * @return 0 a GPU, 1 an IBM processor, 2 a switch, 255 unknown
   * @wraps {@code nvmlDeviceGetNvLinkRemoteDeviceType}; nvml.h
   */
  public NvmlReading<Long> remoteType(int link) {
    return device.number(NvmlQuery.LINK_REMOTE_TYPE, link);
  }

  /**
   * Errors of a link.
   *
   * @param link from 0 to 255
   * @param error which errors
   * @return how many
   * @wraps {@code nvmlDeviceGetNvLinkErrorCounter}; nvml.h
   */
  public NvmlReading<Long> errors(int link, NvmlLinkError error) {
    Objects.checkIndex(link, 256);
    return device.number(NvmlQuery.LINK_ERRORS, link | error.number() << 8);
  }

  /**
   * What all links have sent since the driver was loaded, without the protocol's share.
   *
   * @return kibibytes
   * @wraps {@code nvmlDeviceGetFieldValues}; nvml.h
   */
  public NvmlReading<Long> sentKibibytes() {
    return field(NvmlField.LINK_SENT_KIBIBYTES);
  }

  /**
   * What all links have received since the driver was loaded, without the protocol's share.
   *
   * @return kibibytes
   * @wraps {@code nvmlDeviceGetFieldValues}; nvml.h
   */
  public NvmlReading<Long> receivedKibibytes() {
    return field(NvmlField.LINK_RECEIVED_KIBIBYTES);
  }

  /**
   * How fast a link is.
   *
   * @return megabytes a second
   * @wraps {@code nvmlDeviceGetFieldValues}; nvml.h
   */
  public NvmlReading<Long> linkMegabytesPerSecond() {
    return field(NvmlField.LINK_SPEED_MEGABYTES_PER_SECOND);
  }

  private NvmlReading<Long> field(NvmlField field) {
    return device.fields(List.of(field)).get(0).reading();
  }
}
