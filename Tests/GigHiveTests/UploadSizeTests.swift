import Testing

@testable import GigHive

/// An asynchronous function reserves space for each copy of a value that it makes, and a batch runs five tasks per job.
@Suite struct UploadSizeTests {
    @Test func valuesOfAnUploadAreSmall() {
        #expect(MemoryLayout<Uploader>.size <= 400)
        #expect(MemoryLayout<UploadBatch.Event>.size <= 500)
        #expect(MemoryLayout<UploadResult>.size <= 500)
        #expect(MemoryLayout<UploadOutcomeRecorder>.size <= 700)
        #expect(MemoryLayout<GigHiveError>.size <= 300)
    }

    @Test func copiesAreIndependent() {
        var result = UploadResult(path: [], fileName: "a.mp4", server: "")
        result.error = GigHiveError(.cancelled, detail: "one")
        var copy = result
        copy.error?.detail = "two"
        copy.details = nil
        #expect(result.error?.detail == "one")
        #expect(copy.error?.detail == "two")
        copy.error = nil
        #expect(result.error?.code == .cancelled)
    }
}
