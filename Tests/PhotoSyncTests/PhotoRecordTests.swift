import MediaStore
import Testing

@Suite struct PhotoTimeTests {
    @Test func recordsAreOrderedByTimeNotByText() {
        let early = PhotoTime(text: "2024-01-01T00:00:00.9Z", microseconds: 1_704_067_200_900_000)
        let late = PhotoTime(text: "2024-01-01T00:00:01Z", microseconds: 1_704_067_201_000_000)
        #expect(early < late)
    }
}
