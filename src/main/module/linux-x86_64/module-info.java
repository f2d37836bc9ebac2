/** The JNI glue of org.metrale.gpu for linux-x86_64. */
open module org.metrale.gpu.linux.x86_64.cuda {}
