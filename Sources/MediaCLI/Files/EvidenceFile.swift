internal import Glibc

/// Small files that a registration takes.
enum EvidenceFile {
    /// Far more than a certificate ever has.
    private static let limit = 64 << 10

    /// The bytes of a file.
    ///
    /// - Throws: `Diagnosis` (usage).
    static func bytes(_ path: String) throws(Diagnosis) -> [UInt8] {
        let bytes: [UInt8]
        do throws(WholeInput.Failure) {
            bytes = try WholeInput.all(at: RawArguments.bytes(of: path), limit: limit)
        } catch {
            let reason =
                switch error {
                case .system(ENOENT): "no such file"
                case .tooLarge: "it is larger than \(limit >> 10) KiB"
                case .system, .cancelled: "it cannot be opened"
                }
            throw .usage(
                "cannot read \(ErrorCatalogue.quoted(path)): \(reason)",
                hint: error == .system(ENOENT) ? ErrorCatalogue.missingHint : nil
            )
        }
        guard !bytes.isEmpty else { throw .usage("cannot use \(ErrorCatalogue.quoted(path)): it is empty") }
        return bytes
    }
}
