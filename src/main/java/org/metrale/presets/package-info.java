/**
 * The recipes: which headers are bound and how their odd declarations look in Java.
 *
 * <p><b>Purpose:</b> read by JavaCPP's parser when the sources under {@code src/gen/java} are made,
 * by its builder when the glue is compiled, and by its loader when the glue is loaded. Programs use
 * the generated classes and the checked packages under {@code org.metrale.gpu} instead.
 *
 * <p><b>Layers:</b> uses JavaCPP and, for the names of stream, event and context types, {@code
 * org.bytedeco.cuda.presets}. Nothing handwritten above is used.
 *
 * <p><b>Threading:</b> no state. <b>Cleanup:</b> nothing to close.
 */
package org.metrale.presets;
