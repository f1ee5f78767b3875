internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// A bundle written by `hash-only export`, verified without the store, a key or the network. The file is untrusted.
struct BundleReading: Sendable {
    static let schema = "mediactl.hash-only-bundle/1"
    static let fileName = "bundle.json"
    /// Far above the size of the two bodies of 10 KiB and the key that a bundle contains.
    private static let limit = 1 << 20

    let path: [UInt8]
    /// Path of the media file that was compared.
    let media: [UInt8]?
    let verification: CaptureVerification
    /// SHA-256 of the public key as SubjectPublicKeyInfo, as printed by `openssl pkey -pubin -outform DER | sha256sum`.
    let keyHash: String
    /// Names of the members of the bundle and the body that could be changed without invalidating the signature.
    let unsignedMembers: [String]

    /// Reads a bundle, or the bundle in a directory. If `media` is nil, the media files in that directory are compared.
    ///
    /// - Throws: `UserFacingError` if this is not a bundle, or if `media` changes while it is read; `CaptureError`
    ///   `.fileNotFound`; `SourceFileError`, `CancellationError`.
    init(_ given: [UInt8], media: [UInt8]?) async throws {
        let isDirectory = FileWalk.isDirectory(given)
        let path = isDirectory ? given + [UInt8(ascii: "/")] + Array(Self.fileName.utf8) : given
        let bytes: [UInt8]
        do throws(WholeInput.Failure) {
            bytes = try await BlockingWork.run { () throws(WholeInput.Failure) in
                try WholeInput.all(at: path, limit: Self.limit)
            }
        } catch {
            if error == .missing { throw CaptureError(.fileNotFound, path: path) }
            throw UserFacingError.usage("cannot read \(ErrorCatalog.quoted(path)): \(error.reason)", hint: error.hint)
        }
        guard let members = JSONValue.object(in: bytes[...]), members["schema"]?.text == Self.schema,
            let record = Self.record(members), let key = record.publicKey
        else {
            throw UserFacingError.usage(
                "\(ErrorCatalog.quoted(path)) is not a bundle",
                hint: "mediactl hash-only export ID --bundle FILE writes one"
            )
        }
        self.path = path
        let directory = isDirectory ? given : nil
        let file: (media: [UInt8]?, finding: CaptureVerification.Finding)
        if let media {
            file = (media, try await Self.finding(media, record.mediaHash))
        } else if let directory {
            file = try await Self.finding(in: directory, record.mediaHash)
        } else {
            file = (nil, .skipped("no file was specified"))
        }
        self.media = file.media
        unsignedMembers =
            CaptureBundle.unsignedMembers(of: record)
            + members.map { $0.name }.filter { !Self.signedMembers.contains($0) }.sorted()
        keyHash = try SHA256Digest.of(VerifyingKey(sec1: key).der()).hex
        verification = CaptureVerification(
            ofBundle: record,
            file: file.finding,
            members: Self.agreement(of: members, with: record)
        )
    }

    /// Members that are verified against the signature, directly or as part of the signed body.
    private static let signedMembers: Set<String> = [
        "schema", "profile", "rp_id", "counter", "media_hash", "body", "signed_bytes", "authenticator_data",
        "signature",
        "public_key",
    ]

    /// The record from which a bundle was created, without the members that only the server can confirm.
    private static func record(_ members: JSONObject) -> CaptureRecord? {
        guard let id = members["capture_id"]?.text, let server = members["server"]?.text,
            let profile = members["profile"]?.text, let hash = members["media_hash"]?.text,
            let body = members["body"]?.text.flatMap({ Data(base64Encoded: $0) }),
            let key = members["public_key"]?.text.flatMap({ VerifyingKey.reading(Array($0.utf8)) })
        else { return nil }
        let time = members["created_at"]?.text.flatMap { RFC3339.microseconds($0) } ?? 0
        var record = CaptureRecord(
            id: id,
            server: server,
            profile: profile,
            mode: .hashOnly,
            mediaHash: hash,
            mediaType: "",
            createdAt: Date(timeIntervalSince1970: Double(time) / 1_000_000)
        )
        record.body = Array(body)
        record.publicKey = key.sec1
        record.rpID = members["rp_id"]?.text
        record.deviceID = members["device_id"]?.text
        record.counter = members["counter"]?.wholeNumber.flatMap(UInt32.init(exactly:))
        return record
    }

    // MARK: Findings

    /// Whether the members for other programs match those computed from the body and the key.
    private static func agreement(of members: JSONObject, with record: CaptureRecord) -> CaptureVerification.Finding {
        guard let expected = try? CaptureBundle(record).json.members else { return .failed("the body cannot be read") }
        for name in ["signed_bytes", "authenticator_data", "signature", "public_key", "counter"]
        where members[name] != expected[name] {
            return .failed("\(name) does not match the body")
        }
        return .passed
    }

    private static func finding(_ path: [UInt8], _ hash: String) async throws -> CaptureVerification.Finding {
        try await LocalChecksum.hex(of: path) == hash
            ? .passed : .failed("\(ErrorCatalog.quoted(path)) has a different hash")
    }

    /// The media in a directory: one match with this hash is enough; otherwise any other media file is a mismatch.
    private static func finding(
        in directory: [UInt8],
        _ hash: String
    ) async throws -> (media: [UInt8]?, finding: CaptureVerification.Finding) {
        var other: (media: [UInt8]?, finding: CaptureVerification.Finding)?
        for name in try await names(in: directory) {
            let path = directory + [UInt8(ascii: "/")] + name
            guard let file = try? SourceFile(path: path), let prefix = try? file.prefix(4096),
                MediaType.declared(fileName: String(decoding: name, as: UTF8.self), prefix: prefix) != nil
                    || CaptureMediaType.sniffed(prefix) != nil
            else { continue }
            let finding: CaptureVerification.Finding
            do {
                finding = try await Self.finding(path, hash)
            } catch let error as CancellationError {
                throw error
            } catch {
                finding = .skipped(ErrorCatalog.userFacingError(of: error).message)
            }
            if finding == .passed { return (path, finding) }
            other = other ?? (path, finding)
        }
        return other ?? (nil, .skipped("no media file in the directory"))
    }

    private static func names(in directory: [UInt8]) async throws -> [[UInt8]] {
        do throws(FileWriteError) {
            return try await BlockingWork.run { () throws(FileWriteError) in
                let names = try TargetDirectory.open(directory, creating: false)?.names() ?? []
                return names.sorted { $0.lexicographicallyPrecedes($1) }
            }
        } catch {
            throw UserFacingError.usage("cannot read the directory \(ErrorCatalog.quoted(directory)): \(error.detail)")
        }
    }
}
