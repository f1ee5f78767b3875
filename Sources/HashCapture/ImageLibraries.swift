#if ImageLibraries
    internal import CImageShims
    internal import CImages
#endif

/// The image libraries in use. They may be newer than those used for the build.
public enum ImageLibraries {
    /// The libraries' names and versions, such as `libpng` and `1.6.39`; empty in a build without them.
    public static var versions: [(name: String, number: String)] {
        #if ImageLibraries
            // The pointers refer to constants of the libraries, which are never unloaded.
            [("libpng", String(cString: depth_png_library_version())), ("zlib", String(cString: zlibVersion()))]
        #else
            []
        #endif
    }
}
