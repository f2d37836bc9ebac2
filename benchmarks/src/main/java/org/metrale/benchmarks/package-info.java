/**
 * Measures what the layers of this project cost, next to plain C and to other bindings.
 *
 * <p>{@link org.metrale.benchmarks.Main} runs everything and compares it with its bounds.
 */
package org.metrale.benchmarks;
