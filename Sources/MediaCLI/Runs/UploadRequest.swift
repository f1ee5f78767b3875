/// What `mediactl upload` was asked to do.
struct UploadRequest: Sendable {
    enum Source: Sendable {
        case file([UInt8])
        case standardInput(name: String)

        init(argument: String, stdinName: String?) {
            if argument == "-", let stdinName {
                self = .standardInput(name: stdinName)
            } else {
                self = .file(RawArguments.bytes(of: argument))
            }
        }

        /// The path as given.
        var path: [UInt8] {
            switch self {
            case .file(let path): path
            case .standardInput: Array("-".utf8)
            }
        }

        /// The last component of the path, or the name given for standard input.
        var fileName: String {
            switch self {
            case .file(let path):
                String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
            case .standardInput(let name): name
            }
        }
    }

    var sources: [Source]
    var details: DetailOptions
    var isForced: Bool
    var isDryRun: Bool
    var writesProgressRecords: Bool
}
