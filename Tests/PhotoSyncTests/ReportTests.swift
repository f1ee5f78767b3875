import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// The report of `sync status` about server and index.
@Suite struct ReportTests {
    @Test func serverAndIndexSideBySide() async throws {
        let bench = try await PullBench(ServerPhotos(5)).pulled()
        bench.server.change { $0.serverPhotos.insert(ServerPhotos.photo(9, origin: nil)) }
        let report = try await SyncReport.make(of: bench.account)
        #expect(report.health == ServerHealth(status: "healthy", isSetUp: true))
        #expect(report.status == SyncStatus(totalPhotos: 6, devicePhotos: 0, legacyPhotos: 1, otherDevicePhotos: 5))
        #expect(report.failure == nil)
        #expect(report.state?.lastCompleteAt != nil)
        #expect(report.counts.otherDevices == 5)
        #expect(report.ownership == .unknown)
    }

    @Test func anUnreachableServerIsPartOfTheReport() async throws {
        let directory = try TemporaryDirectory()
        let account = try PullBench.account("http://127.0.0.1:9", in: directory.path, device: nil)
        let report = try await SyncReport.make(of: account)
        #expect(report.failure?.code == .transport)
        #expect(report.status == nil)
        #expect(report.state == nil)
    }

    @Test func aRejectedKeyIsPartOfTheReport() async throws {
        let bench = try PullBench(ServerPhotos(1))
        bench.server.change { $0.statusCode = 401 }
        let report = try await SyncReport.make(of: bench.account)
        #expect(report.failure?.code == .unauthorized)
        #expect(report.health?.isHealthy == true)
    }
}
