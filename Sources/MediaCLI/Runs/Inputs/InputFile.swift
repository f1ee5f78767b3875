internal import Foundation
internal import MediaFiles

/// Lists and manifests: files of any kind, or standard input.
enum InputFile {
    /// Far above a list of a million paths.
    private static let limit = 512 << 20

    /// Everything up to the end, read on a thread of its own.
    ///
    /// - Parameters:
    ///   - name: A path, or `-` for standard input.
    ///   - flag: The option that named it, for messages.
    ///   - context: Says which descriptor standard input is.
    /// - Returns: Its bytes.
    /// - Throws: `Diagnosis` (usage).
    static func bytes(_ name: String, flag: String, in context: CommandContext) async throws(Diagnosis) -> [UInt8] {
        let standardInput = context.standardInput
        let result = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: name == "-" ? readAll(standardInput) : readFile(name))
            }
        }
        switch result {
        case .success(let bytes): return bytes
        case .failure(let failure):
            let what = name == "-" ? "standard input" : ErrorCatalogue.quoted(RawArguments.bytes(of: name))
            throw .usage("\(flag): cannot read \(what): \(failure.reason)", hint: failure.hint)
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

    private struct Failure: Error {
        var reason: String
        var hint: String?
    }

    private static func readFile(_ name: String) -> Result<[UInt8], Failure> {
        let path = RawArguments.bytes(of: name).map(CChar.init(bitPattern:)) + [0]
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return .failure(failure(errno)) }
        defer { close(descriptor) }
        return readAll(descriptor)
    }

    private static func readAll(_ descriptor: Int32) -> Result<[UInt8], Failure> {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let got = read(descriptor, &chunk, chunk.count)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { return .failure(failure(errno)) }
            guard got > 0 else { return .success(bytes) }
            bytes += chunk[..<got]
            guard bytes.count <= limit else { return .failure(Failure(reason: "it is larger than 512 MiB")) }
        }
    }

    private static func failure(_ code: Int32) -> Failure {
        code == ENOENT
            ? Failure(reason: "no such file", hint: "check the spelling of the path")
            : Failure(reason: String(cString: strerror(code)).lowercased())
    }
}
