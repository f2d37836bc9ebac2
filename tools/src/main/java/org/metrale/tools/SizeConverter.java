package org.metrale.tools;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Sizes in arguments, for example {@code 64K}. */
final class SizeConverter implements ITypeConverter<Long> {
  /** For the parser of arguments. */
  SizeConverter() {}

  @Override
  public Long convert(String value) {
    try {
      return Quantities.parseBytes(value);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }
}
