import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

@Suite("Responses recorded from a real server")
struct RecordedResponseTests {
    @Test("pages")
    func pages() throws {
        let sync = try PhotoSyncTranscript("sync")
        let pages = try sync.responses.filter { $0.title.hasPrefix("page") }.map {
            try PhotoPageParser.page(in: $0.body)
        }
        #expect(pages.map(\.photos.count) == [2, 2, 2, 1])
        #expect(pages.map(\.hasMore) == [true, true, true, false])
        #expect(pages.map(\.totalCount) == [7, 7, 7, 7])
        // The cursor is the ID of the last photo (contract section 5); the last page has none.
        #expect(pages.dropLast().allSatisfy { $0.cursor == $0.photos.last?.id })
        #expect(pages.last?.cursor == nil)
        let photos = pages.flatMap(\.photos)
        #expect(photos.map(\.originalFilename) == (1...7).map { "IMG_000\($0).jpg" })
        #expect(photos.filter { $0.originDevice == nil }.count == 3)
        #expect(photos.first?.fileSize == 67_117)
        #expect(photos.first?.takenAt.text == "2024-01-11T10:30:00Z")
        #expect(photos == photos.sorted { $0.uploadedAt < $1.uploadedAt })
        for title in ["cursor = last photo (end)", "garbage cursor", "cursor of bob's photo"] {
            let empty = try PhotoPageParser.page(in: sync(title).body)
            #expect(empty == PhotoPage(photos: [], cursor: nil, hasMore: false, totalCount: 7))
        }
    }

    @Test("counts; lastSyncAt only if present (trap 6)")
    func status() throws {
        let sync = try PhotoSyncTranscript("sync")
        let none = try SyncStatus(reading: sync("status no device").body)
        #expect(none == SyncStatus(totalPhotos: 7, devicePhotos: 0, legacyPhotos: 3, otherDevicePhotos: 4))
        let own = try SyncStatus(reading: sync("status device after sync").body)
        #expect(own.devicePhotos == 4)
        #expect(own.lastSyncAt?.text == "2026-11-20T22:19:11.044832Z")
    }

    @Test("devices, with nanoseconds in the first response and microseconds later (trap 2)")
    func devices() throws {
        let upload = try PhotoSyncTranscript("upload")
        let first = try RegisteredDevice.one(in: upload("reg device").body)
        let again = try RegisteredDevice.one(in: upload("reg device same token again other name").body)
        #expect(first.id == again.id)
        #expect(first.registeredAt.text == "2026-11-20T22:17:20.211467342Z")
        #expect(first.registeredAt.microseconds == again.registeredAt.microseconds)
        #expect(again.name == "second" && again.platform == "ios" && again.isActive)
        let devices = try RegisteredDevice.all(in: upload("devices list").body)
        #expect(devices.map(\.name) == ["second", "mediactl"])
        #expect(try RegisteredDevice.all(in: Array("[]\n".utf8)).isEmpty)
    }

    @Test("uploads")
    func uploads() throws {
        let upload = try PhotoSyncTranscript("upload")
        let first = try PhotoReceipt(reading: upload("upload 1 date Z + device").body)
        let again = try PhotoReceipt(reading: upload("upload 1 again (dup)").body)
        #expect(first == PhotoReceipt(id: "aa4f9747-5ba7-4e58-ab37-81dc06f860ff", isDuplicate: false))
        #expect(again == PhotoReceipt(id: first.id, isDuplicate: true))
    }

    @Test("a login response")
    func login() throws {
        let response = try LoginResponse(reading: PhotoSyncTranscript("auth")("login ok").body)
        #expect(response.email == "alice@example.test")
        #expect(response.device?.name == "mediactl")
        #expect(!response.apiKey.isEmpty)
    }

    @Test(
        "a login with a malformed response still returns its key, because the earlier one is void",
        arguments: [
            #"{"apiKey":"new","user":null}"#, #"{"success":true,"apiKey" : "new","user":{"em"#,
            #"{"device":{"id":7},"user":{"email":"a@b"},"apiKey":"new"}"#, #"[{"apiKey":"new"}]"#,
        ]
    )
    func brokenLogin(response: String) throws {
        #expect(
            try LoginResponse(reading: Array(response.utf8)) == LoginResponse(apiKey: "new", device: nil, email: nil)
        )
    }

    @Test("a login without a key is invalid", arguments: ["", "{}", #"{"apiKey":""}"#, #"{"apiKey":"a\u0000"}"#])
    func keylessLogin(response: String) {
        #expect(throws: PhotoSyncError.self) { try LoginResponse(reading: Array(response.utf8)) }
    }

    @Test("no error response is parsed as a success", arguments: ["auth", "sync", "upload"])
    func refusals(name: String) throws {
        for response in try PhotoSyncTranscript(name).responses {
            guard let status = response.status, status >= 400 else { continue }
            #expect(throws: PhotoSyncError.self) { try PhotoPageParser.page(in: response.body) }
            #expect(throws: PhotoSyncError.self) { try SyncStatus(reading: response.body) }
            #expect(throws: PhotoSyncError.self) { try PhotoReceipt(reading: response.body) }
        }
    }
}
