package org.metrale.gpu.nvtx;

import java.util.Objects;

/**
 * A name of one domain, made once and used for many ranges: registered with the tool, with an
 * optional colour and category.
 *
 * <p>Immutable. Keep it in a static final field, and a range costs two native calls and no memory.
 */
public final class NvtxName {
  private static final int OPAQUE = 0xFF000000;

  private final NvtxDomain domain;
  private final String name;
  private final byte[] text;
  private final long domainHandle;
  private final long handle;
  private final int argb;
  private final NvtxCategory category;

  /**
   * What a tool is told, in native memory for as long as the process lives; 0 if it is not kept.
   */
  private final long prepared;

  NvtxName(NvtxDomain domain, String name, byte[] text, long handle) {
    this(domain, name, text, handle, 0, null);
  }

  private NvtxName(
      NvtxDomain domain, String name, byte[] text, long handle, int argb, NvtxCategory category) {
    this.domain = domain;
    this.name = name;
    this.text = text;
    this.domainHandle = domain.handle();
    this.handle = handle;
    this.argb = argb;
    this.category = category;
    this.prepared = handle == 0 ? 0 : domain.prepare(this);
  }

  /**
   * The same name in a colour.
   *
   * @param rgb red, green and blue as {@code 0xRRGGBB}
   * @return a new value
   */
  public NvtxName withColour(int rgb) {
    return new NvtxName(domain, name, text, handle, OPAQUE | rgb, category);
  }

  /**
   * The same name in a category.
   *
   * @param category a category of the same domain
   * @return a new value
   * @throws IllegalArgumentException if it is of another domain
   */
  public NvtxName withCategory(NvtxCategory category) {
    if (category.domain() != domain) {
      throw new IllegalArgumentException(category + " is not of " + domain);
    }
    return new NvtxName(domain, name, text, handle, argb, category);
  }

  /**
   * The domain that it belongs to.
   *
   * @return the domain that made it
   */
  public NvtxDomain domain() {
    return domain;
  }

  /**
   * Whether the tool knows the name by number.
   *
   * @return false if no tool is attached, or if it is passed as text each time because the domain
   *     has registered as many names as it may
   */
  public boolean isRegistered() {
    return handle != 0;
  }

  @Override
  public String toString() {
    return name;
  }

  long domainHandle() {
    return domainHandle;
  }

  long handle() {
    return handle;
  }

  long prepared() {
    return prepared;
  }

  byte[] text() {
    return text;
  }

  int argb() {
    return argb;
  }

  int categoryNumber() {
    return category == null ? 0 : category.number();
  }

  String categoryName() {
    return category == null ? "" : category.name();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NvtxName that
        && domain == that.domain
        && name.equals(that.name)
        && argb == that.argb
        && Objects.equals(category, that.category);
  }

  @Override
  public int hashCode() {
    return Objects.hash(name, argb, category);
  }
}
