/** The JNI glue of org.metrale.gpu for linux-arm64. */
open module org.metrale.gpu.linux.arm64.cuda {}
