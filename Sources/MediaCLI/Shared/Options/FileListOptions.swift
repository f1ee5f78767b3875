internal import ArgumentParser
internal import MediaFiles

struct FileListOptions: ParsableArguments {
    @Option(
        "Read paths from this file, one per line, relative to the current directory; - for standard input.",
        value: .file
    )
    var filesFrom: String?

    @Option(
        "Like --files-from, but NUL-separated, as written by find -print0.",
        value: .file,
        name: .customLong("files-from0")
    )
    var filesFromZero: String?

    /// The given options, as written on the command line.
    var lists: [(flag: String, value: String)] {
        [("--files-from", filesFrom), ("--files-from0", filesFromZero)]
            .compactMap { flag, value in value.map { (flag, $0) } }
    }

    /// The paths from `--files-from`, then those from `--files-from0`.
    func paths(in context: CommandContext) async throws(UserFacingError) -> [[UInt8]] {
        var paths: [[UInt8]] = []
        if let filesFrom {
            paths += try await InputFile.paths(filesFrom, flag: "--files-from", .line, in: context)
        }
        if let filesFromZero {
            paths += try await InputFile.paths(filesFromZero, flag: "--files-from0", .zero, in: context)
        }
        return paths
    }
}
