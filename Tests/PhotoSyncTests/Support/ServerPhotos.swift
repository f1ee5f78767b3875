import Foundation
import MediaStore

@testable import PhotoSync

/// The photos of one user on a server, listed by the rules of photosync contract section 5.
struct ServerPhotos: Sendable {
    /// One request for a page.
    struct Request: Sendable, Equatable {
        var cursor: String?
        var since: Int64?
        var device: String?
    }

    static let device = PhotoDevice(id: "dddddddd-0000-4000-8000-000000000001", name: "this", platform: "android")
    static let phone = PhotoDevice(id: "dddddddd-0000-4000-8000-000000000002", name: "phone", platform: "ios")

    /// By upload time, then ID.
    private(set) var photos: [PhotoRecord] = []
    var pageSize = 3

    init(_ count: Int = 0, pageSize: Int = 3) {
        self.pageSize = pageSize
        for number in 0..<count { insert(Self.photo(number)) }
    }

    /// The photo with this number. Each second has two photos by default, so their IDs determine the order.
    static func photo(_ number: Int, uploadedAt second: Int? = nil, origin: PhotoDevice? = phone) -> PhotoRecord {
        // The factor is odd: every number results in a different ID, and IDs do not follow the order of uploads.
        let shuffled = UInt32(truncatingIfNeeded: number &* 2_654_435_761)
        return PhotoRecord(
            id: String(format: "%08x-0000-4000-8000-%012x", shuffled, number),
            sha256: String(format: "%064x", number),
            originalFilename: "IMG_\(number).jpg",
            fileSize: Int64(1000 + number),
            takenAt: time(number),
            uploadedAt: time(1_000_000 + (second ?? number / 2)),
            originDevice: origin
        )
    }

    /// This many seconds after 2024-01-01T00:00:00Z, which is 1,704,067,200.
    static func time(_ second: Int) -> PhotoTime {
        let date = Date(timeIntervalSince1970: Double(1_704_067_200 + second))
        return PhotoTime(text: date.formatted(.iso8601), microseconds: Int64(1_704_067_200 + second) * 1_000_000)
    }

    mutating func insert(_ photo: PhotoRecord) {
        photos.append(photo)
        photos.sort { ($0.uploadedAt.microseconds, $0.id) < ($1.uploadedAt.microseconds, $1.id) }
    }

    mutating func remove(_ id: String) {
        photos.removeAll { $0.id == id }
    }

    mutating func setOrigin(_ device: PhotoDevice, of id: String) {
        for index in photos.indices where photos[index].id == id { photos[index].originDevice = device }
    }

    /// A cursor is the ID of the last photo of a page; when that photo is deleted, the position is lost (contract
    /// section 5).
    func page(_ request: Request) -> PhotoPage {
        let listed = photos.filter { $0.uploadedAt.microseconds >= request.since ?? .min }
        var rest = listed[...]
        if let cursor = request.cursor {
            guard let anchor = photos.first(where: { $0.id == cursor }) else {
                return PhotoPage(photos: [], cursor: nil, hasMore: false, totalCount: Int64(photos.count))
            }
            rest = rest.drop {
                ($0.uploadedAt.microseconds, $0.id) <= (anchor.uploadedAt.microseconds, anchor.id)
            }
        }
        let page = Array(rest.prefix(pageSize))
        let hasMore = rest.count > page.count
        return PhotoPage(
            photos: page,
            cursor: hasMore ? page.last?.id : nil,
            hasMore: hasMore,
            totalCount: Int64(photos.count)
        )
    }

    /// Contract section 4.
    func status(of device: String?) -> SyncStatus {
        let own = photos.filter { device != nil && $0.originDevice?.id == device }.count
        let legacy = photos.filter { $0.originDevice == nil }.count
        return SyncStatus(
            totalPhotos: Int64(photos.count),
            devicePhotos: Int64(own),
            legacyPhotos: Int64(legacy),
            otherDevicePhotos: Int64(photos.count - own - legacy)
        )
    }
}
