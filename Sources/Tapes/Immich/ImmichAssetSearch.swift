internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// Finds the server's IDs for originals, as needed by `resolveAssets` (tapes contract 6.3): by path if the server reads
/// the same files, otherwise by checksum; missing originals are uploaded if allowed.
struct ImmichAssetSearch {
    static let largestCheck = 5000

    let library: ImmichLibrary
    let grant: ImmichGrant
    private let clips: [ClipRecord]
    /// nil for clips not resolved yet.
    private var resolutions: [AssetResolution?]
    private var checksums: [ImmichChecksum?]

    init(_ library: ImmichLibrary, grant: ImmichGrant, clips: [ClipRecord]) {
        self.library = library
        self.grant = grant
        self.clips = clips
        resolutions = Array(repeating: nil, count: clips.count)
        checksums = Array(repeating: nil, count: clips.count)
    }

    mutating func run(mayUpload: Bool) async throws(AlbumError) -> [AssetResolution] {
        try await findByServerPath()
        try await makeChecksums()
        try await findByChecksum()
        if mayUpload, grant.allows(.upload) { try await send() }
        return resolutions.map { $0 ?? .unidentified }
    }

    private var open: [Int] { clips.indices.filter { resolutions[$0] == nil } }

    // MARK: By path

    private mutating func findByServerPath() async throws(AlbumError) {
        guard !library.pathMap.isEmpty, grant.allows(.readAsset) else { return }
        for index in open {
            guard let source = clips[index].source, let path = library.serverPath(of: source) else { continue }
            resolutions[index] = try await library.asset(atServerPath: path)
        }
    }

    // MARK: By checksum

    private mutating func makeChecksums() async throws(AlbumError) {
        var reading = ClipChecksums(store: library.store)
        // Checksums computed before a cancellation are stored as well.
        defer { reading.keep() }
        for index in open {
            do throws(ClipOriginal.Failure) {
                checksums[index] = try await reading.checksum(of: clips[index])
            } catch {
                resolutions[index] = try AssetResolution(error)
            }
        }
    }

    private mutating func findByChecksum() async throws(AlbumError) {
        if grant.allows(.upload) {
            let files = open.compactMap { index in
                checksums[index].map { ImmichLibrary.CheckedFile(id: clips[index].id, checksum: $0) }
            }
            let found = try await library.check(files)
            for index in open { resolutions[index] = found[clips[index].id] }
        } else if grant.allows(.readAsset) {
            for index in open {
                guard let checksum = checksums[index] else { continue }
                resolutions[index] = try await library.asset(withChecksum: checksum)
            }
        } else {
            throw AlbumError(.insufficient([ImmichGrant.Permission.upload.rawValue]))
        }
    }

    // MARK: Uploading

    private mutating func send() async throws(AlbumError) {
        let files = open.compactMap { index in
            checksums[index].map { ImmichSender.File(index: index, clip: clips[index], checksum: $0) }
        }
        guard !files.isEmpty else { return }
        let sender = ImmichSender(library, videos: try await library.pairedVideos(of: files.map(\.clip)))
        for (index, resolution) in try await sender.send(files) { resolutions[index] = resolution }
    }
}

extension AssetResolution {
    init(_ failure: ClipOriginal.Failure) throws(AlbumError) {
        switch failure {
        case .away(let reason): self = .unavailable(reason)
        case .silent: self = .unavailable("the file system is not responding")
        case .unfit(let reason): self = .rejected(reason)
        case .cancelled: throw AlbumError(.cancelled)
        }
    }
}

/// The members of an album object that are used (tapes contract 6.2).
struct ImmichAlbum {
    var id: String
    var title: String
    var description: String
    /// Version 3 lists the owner first among the users; version 2 may list the owner separately.
    var ownerID: String?
    /// The time as given in the response; sortable as text.
    var createdAt: String
    /// Number of assets outside the trash (trap 10).
    var assetCount: Int?

    init?(_ value: JSONValue) {
        guard let members = value.members, let id = members["id"]?.text, let title = members["albumName"]?.text else {
            return nil
        }
        self.id = id
        self.title = title
        description = members["description"]?.text ?? ""
        let first = members["albumUsers"]?.elements.first?.members?["user"]?.members?["id"]?.text
        ownerID = members["ownerId"]?.text ?? first
        createdAt = members["createdAt"]?.text ?? ""
        assetCount = members["assetCount"]?.wholeNumber.map(Int.init(clamping:))
    }

    /// Whether a line of the description is this mark; the user may have added other lines.
    func carries(_ mark: String) -> Bool {
        description.split(whereSeparator: \.isNewline).contains { $0.trimmingBlanks() == mark }
    }

    var made: MadeAlbum { MadeAlbum(id: id, title: title, ownerID: ownerID) }
}
