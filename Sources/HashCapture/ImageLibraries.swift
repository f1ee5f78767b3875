internal import CZlib

#if ImageLibraries
    internal import CImageShims
#endif

/// The libraries for depth maps in use. They may be newer than those used for the build.
public enum ImageLibraries {
    /// The libraries' names and versions, such as `libpng` and `1.6.39`; without libpng in a build without it.
    public static var versions: [(name: String, number: String)] {
        // The pointers refer to constants of the libraries, which are never unloaded.
        let zlib = ("zlib", String(cString: zlibVersion()))
        #if ImageLibraries
            return [("libpng", String(cString: depth_png_library_version())), zlib]
        #else
            return [zlib]
        #endif
    }
}
