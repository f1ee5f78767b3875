package import Foundation
internal import MediaCore

/// A response on disk whose process has exited. It belongs to the caller until it is released or freed.
package struct StoredResponse: Sendable {
    /// The upload that the response belongs to; empty if the file does not contain an ID.
    package var uploadID: String
    /// The status of the response; nil if the file does not contain one.
    package var status: Int?
    package var body: [UInt8]
    /// When the response began; for a file written by release 0.1.0, when its last byte was written.
    package var receivedAt: Date
    package var path: String
    /// Whether the file has the format of a response; other files are only listed.
    package var isReadable = true

    /// Removes the response from the disk: its token is stored elsewhere, or is not needed. Keeps the file locked while
    /// it exists.
    package let release: @Sendable () -> Void

    /// `r-` and eight characters derived from the content, so the ID is stable.
    package var id: String {
        let check = CyclicCheck.castagnoli.of("\(uploadID) \(status ?? 0) ".utf8)
        return "r-" + CyclicCheck.castagnoli.of(body, after: check).padded(8, radix: 16)
    }
}

extension StoredResponse {
    /// All responses left by exited processes, readable ones first, each locked until it is freed. Files without
    /// responses are removed.
    package static func abandoned(in directory: DataDirectory) throws(StoreError) -> [StoredResponse] {
        var responses: [StoredResponse] = []
        var unknown: [StoredResponse] = []
        for name in try directory.entries(withPrefix: RescueLog.prefix) {
            guard let file = try LockedFile.existing(directory.file(name)) else { continue }
            let bytes = try file.readAll()
            switch RescueFiles.content(of: bytes) {
            case .responses(let found) where !found.isEmpty:
                let owner = AbandonedRescueFile(file, count: found.count)
                responses += found.map { response in
                    StoredResponse(response, in: file) { owner.remove(response.pages) }
                }
            case .unknown:
                var response = StoredResponse(RescueFiles.Response(uploadID: "", body: bytes), in: file, file.remove)
                response.isReadable = false
                unknown.append(response)
            case .responses, .nothing: file.remove()
            }
        }
        return responses + unknown
    }

    /// Number of responses left by exited processes; an unreadable file counts as one. Changes nothing; includes
    /// responses that the next adoption stores.
    package static func count(in directory: DataDirectory) throws(StoreError) -> Int {
        guard try FileStatus(at: directory.path) != nil else { return 0 }
        var count = 0
        for name in try directory.entries(withPrefix: RescueLog.prefix) {
            guard let file = try LockedFile.reading(directory.file(name)) else { continue }
            switch RescueFiles.content(of: try file.readAll()) {
            case .responses(let found): count += found.count
            case .unknown: count += 1
            case .nothing: break
            }
        }
        return count
    }

    /// The bodies of the responses in the content of a rescue file; nil for other content.
    package static func bodies(in content: [UInt8]) -> [[UInt8]]? {
        guard case .responses(let responses) = RescueFiles.content(of: content) else { return nil }
        return responses.map(\.body)
    }

    private init(_ response: RescueFiles.Response, in file: LockedFile, _ release: @escaping @Sendable () -> Void) {
        let modifiedAt = FileStatus(descriptor: file.descriptor)?.modifiedAt ?? 0
        self.init(
            uploadID: response.uploadID,
            status: response.status,
            body: response.body,
            receivedAt: response.receivedAt ?? Date(timeIntervalSince1970: modifiedAt),
            path: file.path,
            release: release
        )
    }
}
