import MediaSystem
import Synchronization
import Testing

@Suite struct BoundedTasksTests {
    @Test(arguments: [1, 3]) func concurrencyIsLimitedAndResultsKeepTheirOrder(limit: Int) async {
        let running = Atomic(0)
        let results = await withBoundedTasks(0..<20, limit: limit) { number in
            let count = running.add(1, ordering: .relaxed).newValue
            for _ in 0..<100 { await Task.yield() }
            running.subtract(1, ordering: .relaxed)
            return (number, count <= limit)
        }
        #expect(results.map(\.0) == Array(0..<20))
        #expect(results.allSatisfy { $0.1 })
    }
}
