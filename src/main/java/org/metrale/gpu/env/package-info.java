/**
 * Settings from environment variables: chains of names in which the first that is set wins.
 *
 * <p><b>Purpose:</b> the same answers as deployed programs get from the same variables, as pure
 * functions over a map, and beside each a strict form that says which variable is empty or mistyped
 * instead of quietly using something else. {@link org.metrale.gpu.env.RailTier} holds the names
 * that rails are configured by.
 *
 * <p><b>Layers:</b> the JDK only, and nothing of this library. The process's own environment is
 * read in one method, {@link org.metrale.gpu.env.Environment#ofProcess()}.
 *
 * <p><b>Threading:</b> everything here is immutable; use it from any thread.
 *
 * <p><b>Cleanup:</b> nothing here holds anything that needs closing.
 */
package org.metrale.gpu.env;
