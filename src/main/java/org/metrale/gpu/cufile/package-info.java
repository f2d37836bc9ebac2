/**
 * Files to and from device and host memory: cuFile (GPUDirect Storage) checked, and the file
 * system's calls where it is not to be had.
 *
 * <p><b>Purpose:</b> a {@link org.metrale.gpu.cufile.CuFileDriver} opens {@link
 * org.metrale.gpu.cufile.CuFileHandle files}; each read and write says how many bytes it moved and
 * which way they went. {@link org.metrale.gpu.cufile.GdsStatus} says why GPUDirect Storage is off.
 *
 * <p><b>Errors:</b> cuFile answers in three ways, which {@link
 * org.metrale.gpu.cufile.CuFileException} keeps apart: an errno, a code of its own, and beside
 * {@code CU_FILE_CUDA_DRIVER_ERROR} a code of the CUDA driver. A short read is an answer, not an
 * error.
 *
 * <p><b>Blocking:</b> every call is given up after its own time or that of {@link
 * org.metrale.gpu.cufile.CuFileOptions}; what has not returned then keeps its file, memory and
 * driver open until it does, and {@link org.metrale.gpu.cufile.CuFileDriver#unfinishedCalls()}
 * counts it. A time of {@code ChronoUnit.FOREVER} has calls made in the caller's thread.
 *
 * <p><b>Layers:</b> uses the root package, {@code gpu.cuda} and the generated cuFile classes.
 *
 * <p><b>Threading:</b> everything but a {@link org.metrale.gpu.cufile.CuFileBatch} may be used from
 * any number of threads.
 *
 * <p><b>Cleanup:</b> close batches, operations, files and buffers, then the driver, then CUDA's
 * contexts. The order is enforced.
 */
package org.metrale.gpu.cufile;
