// SPDX-License-Identifier: MIT
// A C++ program with threads, containers and locks; prints a checksum that must not change when traced.
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int main()
{
	std::mutex mutex;
	std::condition_variable changed;
	std::map<std::string, int> seen;
	std::vector<std::thread> threads;
	int finished = 0;

	for (int t = 0; t < 4; t++) {
		threads.emplace_back([&, t] {
			for (int i = 0; i < 2000; i++) {
				const std::string name = "a long enough name to be allocated " + std::to_string(i % 97);
				try {
					if (i % 500 == 499)
						throw std::runtime_error(name);
					std::lock_guard<std::mutex> guard(mutex);
					seen[name] += t + 1;
				} catch (const std::runtime_error &error) {
					std::lock_guard<std::mutex> guard(mutex);
					seen[error.what()] += 100;
				}
			}
			std::lock_guard<std::mutex> guard(mutex);
			finished++;
			changed.notify_all();
		});
	}
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [&] { return finished == 4; });
	}
	for (auto &thread : threads)
		thread.join();
	long sum = 0;
	for (const auto &entry : seen)
		sum += entry.second * static_cast<long>(entry.first.size());
	std::printf("%zu %ld\n", seen.size(), sum);
	return 0;
}
