import Foundation
import TestSupport
import Testing

/// Status, listing, legacy photos and claims (photosync contract 4, 5 and 7).
@Suite struct PhotoListTests {
    let fixture: PhotoFixture

    init() async throws { fixture = try await PhotoFixture() }

    private func run(_ fixture: PhotoFixture, limit: Int) async throws -> [PhotoPageResponse] {
        var pages = [try await fixture.list(#"{"limit":\#(limit)}"#)]
        while let cursor = pages.last?.pagination.cursor, pages.count < 100 {
            pages.append(try await fixture.list(#"{"limit":\#(limit),"cursor":"\#(cursor)"}"#))
        }
        return pages
    }

    @Test func pagesContainEveryPhotoOnceInUploadOrder() async throws {
        // Three upload times with a hundred photos each; for equal times, IDs determine the order.
        for second in 1...3 {
            try await fixture.sandbox.addPhotos(#"{"count":100,"step":0,"uploadedAt":"2024-01-01T00:00:0\#(second)Z"}"#)
        }
        let pages = try await run(fixture, limit: 50)
        #expect(pages.map(\.photos.count) == [Int](repeating: 50, count: 6))
        #expect(pages.map(\.pagination.hasMore) == [true, true, true, true, true, false])
        #expect(pages.map { $0.pagination.cursor ?? "" } == pages.dropLast().map { $0.photos.last?.id ?? "" } + [""])
        #expect(pages.allSatisfy { $0.sync.totalCount == 300 && $0.sync.serverVersion == 300 })
        let keys = pages.flatMap(\.photos).map { $0.uploadedAt + $0.id }
        #expect(keys == keys.sorted())
        #expect(Set(keys).count == 300)
    }

    /// Trap 18: every list handles limits differently.
    @Test func limitsAreClamped() async throws {
        try await fixture.sandbox.addPhotos(#"{"count":600}"#)
        for (limit, count) in [(0, 100), (-5, 100), (1, 1), (500, 500), (501, 500), (100_000, 500)] {
            let page = try await fixture.list(#"{"limit":\#(limit)}"#)
            #expect(page.photos.count == count, "\(limit)")
            #expect(page.sync.returnedCount == count)
        }
        #expect(try await fixture.list().photos.count == 100)
    }

    /// Trap 1: the position is looked up through the photo that the cursor refers to.
    @Test func aCursorWithADeletedPhotoEndsTheListing() async throws {
        try await fixture.sandbox.addPhotos(#"{"count":10}"#)
        let cursor = try #require(try await fixture.list(#"{"limit":4}"#).pagination.cursor)
        let json = #"{"limit":4,"cursor":"\#(cursor)"}"#
        #expect(try await fixture.list(json).photos.count == 4)
        try await fixture.sandbox.photoSync("DELETE", "photos/" + cursor)
        let page = try await fixture.list(json)
        #expect(page.photos.isEmpty && !page.pagination.hasMore && page.pagination.cursor == nil)
        #expect(page.sync.totalCount == 9)
    }

    @Test func anotherUsersPhotoIsUsedAsATimePosition() async throws {
        try await fixture.sandbox.addPhotos(#"{"uploadedAt":"2024-01-01T00:00:00Z"}"#)
        let late = try await fixture.sandbox.addPhotos(#"{"uploadedAt":"2024-01-03T00:00:00Z"}"#)
        let bobs = try await fixture.sandbox.addPhotos(
            #"{"uploadedAt":"2024-01-02T00:00:00Z","user":"bob@example.test"}"#
        )
        #expect(try await fixture.list(#"{"cursor":"\#(bobs[0])"}"#).photos.map(\.id) == late)
    }

    /// The filter is inclusive, uses the upload time, and ignores the offset (trap 4).
    @Test func sinceComparesTheLocalTime() async throws {
        let ids = try await fixture.sandbox.addPhotos(
            #"{"count":3,"step":3600000000,"uploadedAt":"2024-01-01T10:00:00Z","dateTaken":"2000-01-01T00:00:00Z"}"#
        )
        func since(_ text: String) async throws -> [String] {
            let page = try await fixture.list(#"{"sinceTimestamp":"\#(text)"}"#)
            #expect(page.sync.totalCount == 3)
            return page.photos.map(\.id)
        }
        #expect(try await since("2024-01-01T11:00:00Z") == Array(ids.dropFirst()))
        #expect(try await since("2024-01-01T11:00:00.000001Z") == Array(ids.dropFirst(2)))
        #expect(try await since("2024-01-01T12:00:00+02:00") == Array(ids.dropFirst(2)))
        #expect(try await fixture.list(#"{"sinceTimestamp":null,"cursor":""}"#).photos.count == 3)
    }

    /// Trap 20: any page with a photo updates the device's time; nothing else does.
    @Test func onlyPagesWithPhotosUpdateTheTimeOfTheLastSync() async throws {
        let device = try await fixture.register("t")
        func lastSync() async throws -> String? {
            try await fixture.get("/api/sync/status", "-H", "X-Device-ID: " + device).string("lastSyncAt")
        }
        _ = try await fixture.list(#"{"deviceId":"\#(device)"}"#)
        #expect(try await lastSync() == nil)
        _ = try await fixture.uploadNew("a.jpg", ["deviceId=" + device])
        _ = try await fixture.list()
        _ = try await fixture.list(#"{"deviceId":"nobody"}"#)
        #expect(try await lastSync() == nil)
        // Ownership is not checked.
        try await fixture.sandbox.addPhotos(#"{"user":"bob@example.test"}"#)
        _ = try await fixture.list(#"{"deviceId":"\#(device)"}"#, as: PhotoFixture.bob)
        let first = try #require(try await lastSync())
        _ = try await fixture.list(#"{"deviceId":"\#(device)","cursor":"gone"}"#)
        #expect(try await lastSync() == first)
        _ = try await fixture.list(#"{"deviceId":"\#(device)","limit":1}"#)
        #expect(try await lastSync() != first)
    }

    @Test func thumbnailAddressesAreReturnedForPhotos() async throws {
        let picture = try fixture.file("a.jpg", jpeg(width: 64, height: 48, exif: exif(orientation: 6, date: "")))
        _ = try await fixture.upload(picture)
        let text = try await fixture.uploadNew("b.jpg")
        let photos = try await fixture.list(#"{"includeThumbnailUrls":true}"#).photos
        #expect(photos.map(\.thumbnailUrl) == ["/api/web/photos/\(photos[0].id)/thumbnail", nil])
        #expect(photos.map(\.width) == [48, nil])
        #expect(photos.map(\.height) == [64, nil])
        #expect(try await fixture.list().photos.allSatisfy { $0.thumbnailUrl == nil })
        let path = "/api/photos/\(photos[0].id)/thumbnail"
        #expect(try await fixture.get(path).text == "Thumbnail not found\n")
        #expect(try await fixture.get(path, as: PhotoFixture.bob).text == "Access denied\n")
        #expect(try await fixture.get("/api/photos/\(text)/thumbnail").text == "Thumbnail not available\n")
        #expect(try await fixture.get("/api/photos/none/thumbnail").text == "Photo not found\n")
    }

    // MARK: Legacy photos

    @Test func claimsAssignLegacyPhotosToADevice() async throws {
        let device = try await fixture.register("t")
        let foreign = try await fixture.register("b", as: PhotoFixture.bob)
        let ids = try await fixture.sandbox.addPhotos(#"{"count":5}"#)
        let bobs = try await fixture.sandbox.addPhotos(#"{"user":"bob@example.test"}"#)
        func claim(_ json: String) async throws -> String {
            try await fixture.post("/api/sync/claim-legacy", json).text
        }
        func claimed(_ count: Int) -> String { #"{"claimed":\#(count),"alreadyClaimed":0,"failed":0}"# + "\n" }

        for (json, text) in [
            ("", "Invalid request body"), (#"{"photoIds":"x"}"#, "Invalid request body"),
            (#"{"claimAll":true}"#, "Device ID is required"),
            (#"{"deviceId":"none","claimAll":true}"#, "Invalid device"),
            (#"{"deviceId":"\#(foreign)","claimAll":true}"#, "Invalid device"),
            (#"{"deviceId":"\#(device)"}"#, "No photos specified to claim"),
            (#"{"deviceId":"\#(device)","claimAll":false,"photoIds":[]}"#, "No photos specified to claim"),
        ] {
            let response = try await fixture.post("/api/sync/claim-legacy", json)
            #expect(response.status == 400)
            #expect(response.text == text + "\n")
        }
        #expect(try await fixture.status(device: device)["legacyPhotos"] == 5)
        let some = #"{"deviceId":"\#(device)","photoIds":["\#(ids[0])","\#(ids[0])","\#(ids[1])","none"]}"#
        #expect(try await claim(some) == claimed(2))
        #expect(try await claim(some) == claimed(0))
        // Ownership is not checked: the photo stays Bob's.
        #expect(try await claim(#"{"deviceId":"\#(device)","photoIds":["\#(bobs[0])"]}"#) == claimed(1))
        #expect(try await fixture.list("{}", as: PhotoFixture.bob).photos.map(\.originDevice?.id) == [device])
        #expect(try await claim(#"{"deviceId":"\#(device)","claimAll":true,"photoIds":["x"]}"#) == claimed(3))
        let status = try await fixture.status(device: device)
        #expect(status["devicePhotos"] == 5 && status["legacyPhotos"] == 0)
        // Deleting the device is the only way to revert a claim.
        #expect(try await fixture.delete("/api/devices/" + device).text == #"{"success":true}"# + "\n")
        #expect(try await fixture.status(device: device)["legacyPhotos"] == 5)
    }

    @Test func tooManyIDsAreADatabaseError() async throws {
        let device = try await fixture.register("t")
        func response(_ count: Int) async throws -> CurlResponse {
            let ids = [String](repeating: #""x""#, count: count).joined(separator: ",")
            let json = try fixture.file("ids", #"{"deviceId":"\#(device)","photoIds":[\#(ids)]}"#.utf8)
            return try await fixture.post("/api/sync/claim-legacy", "@" + json)
        }
        #expect(try await response(65_534).status == 200)
        let refused = try await response(65_535)
        #expect(refused.status == 500)
        #expect(refused.text == "Database error\n")
    }

    @Test func aBuildWithoutPostgreSQLDoesNothing() async throws {
        let fixture = try await PhotoFixture(["--photosync-stub"])
        let device = try await fixture.register("t")
        try await fixture.sandbox.addPhotos(#"{"count":3,"dateTaken":"2020-01-01T00:00:00Z"}"#)
        let page = try await fixture.list(
            #"{"limit":2,"deviceId":"\#(device)","cursor":"gone","sinceTimestamp":"2100-01-01T00:00:00Z"}"#
        )
        #expect(page.photos.count == 2)
        #expect(page.photos[0].dateTaken > page.photos[1].dateTaken)
        #expect(!page.pagination.hasMore && page.sync.totalCount == 3)
        let status = try await fixture.status(device: device)
        #expect(status["legacyPhotos"] == 0 && status["otherDevicePhotos"] == 3)
        #expect(
            try await fixture.post("/api/sync/claim-legacy", #"{"deviceId":"\#(device)","claimAll":true}"#)
                .int("claimed") == 0
        )
    }
}
