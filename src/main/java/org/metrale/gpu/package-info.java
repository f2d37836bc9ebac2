/**
 * What all checked packages share: exceptions, the state machine of native resources, and how a
 * vendor library is found and opened.
 *
 * <p><b>Purpose:</b> one way to fail, one way to own, one way to open a library, so that every
 * package above does these alike.
 *
 * <p><b>Layers:</b> uses the JDK; {@code NativeLibrary} alone also uses JavaCPP. No subpackage is
 * used from here.
 *
 * <p><b>Threading:</b> everything here may be used from any thread.
 *
 * <p><b>Cleanup:</b> {@link org.metrale.gpu.NativeResource} is the one way to own something native.
 */
package org.metrale.gpu;
