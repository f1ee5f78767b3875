internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// Lists and manifests: files of any kind, or standard input.
enum InputFile {
    /// Far above a list of a million paths.
    private static let limit = 512 << 20

    /// Everything up to the end, read on a thread that may wait.
    ///
    /// - Parameters:
    ///   - name: A path, or `-` for standard input.
    ///   - flag: The option that named it, for messages.
    ///   - context: Says which descriptor standard input is.
    /// - Returns: Its bytes.
    /// - Throws: `Diagnosis` (usage).
    static func bytes(_ name: String, flag: String, in context: CommandContext) async throws(Diagnosis) -> [UInt8] {
        let (standardInput, path) = (context.standardInput, RawArguments.bytes(of: name))
        do {
            return try await BlockingWork.run { () throws(WholeInput.Failure) in
                name == "-"
                    ? try WholeInput.all(from: standardInput, limit: limit)
                    : try WholeInput.all(at: path, limit: limit)
            }
        } catch {
            let what = name == "-" ? "standard input" : ErrorCatalogue.quoted(path)
            let isMissing = error == .system(ENOENT)
            throw .usage(
                "\(flag): cannot read \(what): \(isMissing ? "no such file" : reason(error))",
                hint: isMissing ? ErrorCatalogue.missingHint : nil
            )
        }
    }

    private static func reason(_ failure: WholeInput.Failure) -> String {
        switch failure {
        case .system(let code): SystemError.words(code)
        case .tooLarge: "it is larger than \(limit >> 20) MiB"
        case .cancelled: "interrupted"
        }
    }

    /// The paths of a list.
    ///
    /// - Throws: `Diagnosis` (usage).
    static func paths(
        _ name: String,
        flag: String,
        _ separator: PathList.Separator,
        in context: CommandContext
    ) async throws(Diagnosis) -> [[UInt8]] {
        let bytes = try await bytes(name, flag: flag, in: context)
        do {
            return try PathList.paths(in: bytes, separatedBy: separator)
        } catch {
            throw Diagnosis.usage("\(flag): entry \(error.entry): \(ErrorCatalogue.clean(error.reason))")
        }
    }
}
