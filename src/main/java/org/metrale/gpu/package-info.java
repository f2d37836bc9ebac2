/**
 * What all checked packages share: exceptions, the state machine of native resources, and how a
 * vendor library is found and opened.
 *
 * <p><b>Layers:</b> uses the JDK; {@code NativeLibrary} alone also uses JavaCPP. No subpackage is
 * used from here.
 *
 * <p><b>Threading:</b> everything here may be used from any thread.
 *
 * <p><b>Cleanup:</b> {@link org.metrale.gpu.NativeResource} is the one way to own something native.
 */
package org.metrale.gpu;
