internal import MediaFiles

/// One thing to upload, before anything about it has been checked.
struct UploadInput: Sendable, Equatable {
    /// What is read.
    enum Source: Sendable, Equatable {
        case file([UInt8])
        case standardInput(name: String)
    }

    /// Where the input was named.
    enum Origin: Sendable, Equatable {
        /// On the command line or in a list.
        case named
        /// In a directory.
        case found
        /// At this line of a manifest.
        case manifest(line: Int)
        /// In the report of an earlier run.
        case report
    }

    var source: Source
    var origin = Origin.named
    /// Number among all inputs, those of other shards included, from 1; the `{n}` of labels.
    var number = 0
    /// What a manifest or a report tells about it, by the upload's field names.
    var fields: [String: String] = [:]
    /// The system's words for a directory that could not be read; there is nothing to send then.
    var unreadable: String?

    /// The path as given.
    var path: [UInt8] {
        switch source {
        case .file(let path): path
        case .standardInput: Array("-".utf8)
        }
    }

    /// The last component of the path, or the name given for standard input.
    var fileName: String {
        switch source {
        case .file(let path): path.fileName
        case .standardInput(let name): name
        }
    }

    /// Whether what the command line says comes before what the input's own fields say: a report holds what was told the
    /// last time, which may have been the fault.
    var prefersFlags: Bool { origin == .report }
}
